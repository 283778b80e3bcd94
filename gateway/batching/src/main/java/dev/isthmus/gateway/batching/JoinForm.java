package dev.isthmus.gateway.batching;

import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.OutputForms;
import java.util.Set;

/**
 * The form of a request, which its response depends on.
 *
 * @param typed whether, on the protobuf wire, it has typed contents
 * @param outputs the forms of its outputs on the REST wire
 * @param plainInputs on the REST wire, the names of inputs received as JSON
 */
record JoinForm(Wire wire, boolean typed, OutputForms outputs, Set<String> plainInputs) {}
