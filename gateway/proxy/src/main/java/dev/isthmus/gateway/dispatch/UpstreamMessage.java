package dev.isthmus.gateway.dispatch;

import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;

/**
 * A request in the form of one server.
 *
 * @param message on the server's wire; who gets it owns it
 * @param form how the client wants the answer of this server
 */
record UpstreamMessage(InferMessage message, ResponseForm form) {}
