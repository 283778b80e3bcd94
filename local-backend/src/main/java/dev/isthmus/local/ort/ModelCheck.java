package dev.isthmus.local.ort;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.TensorCheck;
import java.util.List;

/**
 * Checks whether a request matches a model. ONNX Runtime itself fails on missing inputs only at run time, and accepts
 * memory of wrong sizes.
 *
 * @param model the model's name
 */
record ModelCheck(String model, Signature signature) {

    /** @throws OipException INVALID_ARGUMENT naming tensor, value and expectation */
    void require(InferRequest request) {
        List<Tensor> inputs = request.inputs();
        boolean[] given = new boolean[signature.inputs().size()];
        for (int i = 0; i < inputs.size(); i++) {
            Tensor input = inputs.get(i);
            TensorSpec spec = signature.input(input.name());
            if (spec == null) {
                throw failure(
                        "input", input.name(), " is not one of its inputs; they are " + names(signature.inputs()));
            }
            if (given[spec.index()]) {
                throw failure("input", input.name(), " is given twice");
            }
            given[spec.index()] = true;
            require(spec, input);
        }
        for (int i = 0; i < given.length; i++) {
            if (!given[i]) {
                throw failure("input", signature.inputs().get(i).name(), " is missing");
            }
        }
        require(request.outputs());
    }

    private void require(TensorSpec spec, Tensor input) {
        if (input.dataType() != spec.type()) {
            throw failure("input", spec.name(), ": datatype " + spec.type() + " is expected, got " + input.dataType());
        }
        if (!spec.fits(input.shape())) {
            throw failure("input", spec.name(), ": shape " + spec.shape() + " is expected, got " + input.shape());
        }
        if (input.shared()) {
            throw failure("input", spec.name(), ": local models do not support shared memory");
        }
        TensorCheck.INPUT.requireRaw(spec.name(), spec.type(), input.shape(), input.data());
    }

    private void require(List<RequestedOutput> outputs) {
        boolean[] requested = new boolean[signature.outputs().size()];
        for (int i = 0; i < outputs.size(); i++) {
            String name = outputs.get(i).name();
            TensorSpec spec = signature.output(name);
            if (spec == null) {
                throw failure("output", name, " is not one of its outputs; they are " + names(signature.outputs()));
            }
            if (requested[spec.index()]) {
                throw failure("output", name, " is requested twice");
            }
            requested[spec.index()] = true;
        }
    }

    private static List<String> names(List<TensorSpec> specs) {
        return specs.stream().map(TensorSpec::name).toList();
    }

    private OipException failure(String kind, String name, String what) {
        return OipException.invalid("model '" + model + "': " + kind + " '" + name + "'" + what);
    }
}
