package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.StreamParameters;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestRequest;
import java.util.List;

/** Decides whether a REST request is forwarded to a REST server as received. */
final class PassThroughRule {
    private PassThroughRule() {}

    /** Whether it is forwarded to all of these servers as received. */
    static boolean appliesTo(List<ServerFeatures> peers, RestRequest read) {
        for (ServerFeatures peer : peers) {
            if (!appliesTo(peer, read)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Whether the server reads the body as the client sent it without losing anything, and responds in the requested
     * form.
     */
    static boolean appliesTo(ServerFeatures peer, RestRequest read) {
        OutputForms outputs = read.outputForms();
        if (peer.wire() != Wire.REST
                || read.contestedInputs()
                || (!read.base64Inputs().isEmpty() && !peer.dialect().base64())
                || !outputs.base64().isEmpty()
                || read.request().parameters().containsKey(StreamParameters.EMPTY_FINAL)
                || !peer.dialect().acceptsId(read.request().id())
                || (!peer.dialect().classifies()
                        && read.request().outputs().stream().anyMatch(RequestedOutput::classified))
                || ((read.foreignParameter() != null || read.hasNull()) && !peer.anyParameter())
                || (!peer.sharedMemory() && inSharedMemory(read.request()))) {
            return false;
        }
        if (!peer.binaryTensorData()) {
            return !outputs.anyBinary();
        }
        if (peer.dialect().lossyJson()) {
            return (read.allBinary() || peer.dialect().mayInspectJson())
                    && outputs.allBinary(read.request().outputs())
                    && (outputs.binaryByDefault() || !peer.dialect().binaryOutputTwice());
        }
        return outputs.explicit(read.request().outputs());
    }

    private static boolean inSharedMemory(InferRequest request) {
        for (Tensor input : request.inputs()) {
            if (input.shared()) {
                return true;
            }
        }
        for (RequestedOutput output : request.outputs()) {
            if (output.shared()) {
                return true;
            }
        }
        return false;
    }
}
