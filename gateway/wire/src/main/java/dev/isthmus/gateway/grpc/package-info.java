/**
 * What both ends need of gRPC over HTTP/2: messages in and out of data, grpc-timeout, grpc-message, the names of fields.
 * Knows neither connections nor what the messages are.
 */
@NullMarked
package dev.isthmus.gateway.grpc;

import org.jspecify.annotations.NullMarked;
