package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestRequest;
import java.util.List;

/** When a REST request goes to a REST server as it came. */
final class PassThroughRule {
    private PassThroughRule() {}

    /** Whether all of these servers do. */
    static boolean goesTo(List<ServerFeatures> peers, RestRequest read) {
        for (ServerFeatures peer : peers) {
            if (!goesTo(peer, read)) {
                return false;
            }
        }
        return true;
    }

    /** Whether the server reads the body as the client sent it without losing anything, and answers as it was asked. */
    static boolean goesTo(ServerFeatures peer, RestRequest read) {
        OutputForms outputs = read.outputForms();
        if (peer.wire() != Wire.REST
                || read.contestedInputs()
                || (read.base64Inputs() && !peer.dialect().base64())
                || !outputs.base64().isEmpty()
                || !peer.dialect().takesId(read.request().id())
                || (read.foreignParameter() != null && !peer.anyParameter())
                || (!peer.sharedMemory() && inSharedMemory(read.request()))) {
            return false;
        }
        if (!peer.binaryTensorData()) {
            return !outputs.anyBinary();
        }
        if (peer.dialect().lossyJson()) {
            return (read.allBinary() || peer.dialect().keepsJson())
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
