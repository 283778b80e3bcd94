package dev.isthmus.gateway.dispatch;

import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;

/**
 * A request in the form of one server.
 *
 * @param message on the server's wire, owned by the receiver
 * @param form the form in which the client wants the server's response
 */
record UpstreamMessage(InferMessage message, ResponseForm form) {}
