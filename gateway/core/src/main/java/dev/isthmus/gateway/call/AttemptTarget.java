package dev.isthmus.gateway.call;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.Wire;

/**
 * What an attempt is sent to.
 *
 * @param upstream its configured name
 * @param server address and port; empty for the local backend
 * @param wire the protocol of the server; decoded for the local backend
 * @param model as the server knows it; its name is empty if the request names none
 * @param number 1 for the first attempt of the call
 */
public record AttemptTarget(String upstream, String server, Wire wire, ModelRef model, int number) {}
