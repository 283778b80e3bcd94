package dev.isthmus.local.ort;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.TensorCheck;
import java.util.List;

/**
 * Whether a request fits a model. ONNX Runtime itself runs into missing inputs, and accepts memory of odd sizes.
 *
 * @param model its name
 */
record ModelCheck(String model, Signature signature) {

    /** @throws OipException INVALID_ARGUMENT naming tensor, value and expectation */
    void require(InferRequest request) {
        List<Tensor> inputs = request.inputs();
        boolean[] given = new boolean[signature.inputs().size()];
        for (int i = 0; i < inputs.size(); i++) {
            Tensor input = inputs.get(i);
            TensorSpec port = signature.input(input.name());
            if (port == null) {
                throw failure(
                        "input", input.name(), " is not one of its inputs; they are " + names(signature.inputs()));
            }
            if (given[port.index()]) {
                throw failure("input", input.name(), " is given twice");
            }
            given[port.index()] = true;
            require(port, input);
        }
        for (int i = 0; i < given.length; i++) {
            if (!given[i]) {
                throw failure("input", signature.inputs().get(i).name(), " is missing");
            }
        }
        require(request.outputs());
    }

    private void require(TensorSpec port, Tensor input) {
        if (input.dataType() != port.type()) {
            throw failure("input", port.name(), ": datatype " + port.type() + " is expected, got " + input.dataType());
        }
        if (!port.fits(input.shape())) {
            throw failure("input", port.name(), ": shape " + port.shape() + " is expected, got " + input.shape());
        }
        if (input.shared()) {
            throw failure("input", port.name(), ": shared memory is not read by local models");
        }
        TensorCheck.INPUT.requireRaw(port.name(), port.type(), input.shape(), input.data());
    }

    private void require(List<RequestedOutput> outputs) {
        boolean[] asked = new boolean[signature.outputs().size()];
        for (int i = 0; i < outputs.size(); i++) {
            String name = outputs.get(i).name();
            TensorSpec port = signature.output(name);
            if (port == null) {
                throw failure("output", name, " is not one of its outputs; they are " + names(signature.outputs()));
            }
            if (asked[port.index()]) {
                throw failure("output", name, " is asked for twice");
            }
            asked[port.index()] = true;
        }
    }

    private static List<String> names(List<TensorSpec> ports) {
        return ports.stream().map(TensorSpec::name).toList();
    }

    private OipException failure(String kind, String name, String what) {
        return OipException.invalid("model '" + model + "': " + kind + " '" + name + "'" + what);
    }
}
