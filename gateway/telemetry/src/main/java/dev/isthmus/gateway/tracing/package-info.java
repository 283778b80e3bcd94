/**
 * Distributed traces: the W3C trace context of calls, sampling, spans and their export over OTLP. Only this package
 * knows OpenTelemetry, and nothing of it but {@link dev.isthmus.gateway.tracing.ReloadableTracing} is loaded unless
 * traces are configured.
 */
@NullMarked
package dev.isthmus.gateway.tracing;

import org.jspecify.annotations.NullMarked;
