/**
 * Distributed traces: the W3C trace context of calls, sampling, spans and their export over OTLP. Only this package
 * knows OpenTelemetry, and nothing of it but {@link dev.isthmus.gateway.tracing.ReloadableTracing} is loaded unless
 * traces are configured.
 *
 * <p>{@code ReloadableTracing} gives each call its {@code TraceSpan}: {@code NONE} without traces, {@code
 * UnsampledSpan}, or {@code RecordedSpan}. Attempts and copies for shadows have spans of their own, whose ids go to
 * the server. {@code SpanExport} has the queue and the thread, {@code OtlpSender} OpenTelemetry's exporter.
 */
@NullMarked
package dev.isthmus.gateway.tracing;

import org.jspecify.annotations.NullMarked;
