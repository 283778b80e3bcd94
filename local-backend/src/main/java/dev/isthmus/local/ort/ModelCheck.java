package dev.isthmus.local.ort;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.TensorCheck;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Checks whether a request matches a model. ONNX Runtime itself fails on missing inputs only at run time, and accepts
 * memory of wrong sizes.
 *
 * @param model the model's name
 * @param maxRows the maximum first extent of inputs in which it is variable; 0 for any
 */
record ModelCheck(String model, Signature signature, int maxRows) {

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
        if (maxRows > 0
                && input.shape().rank() > 0
                && spec.shape().extent(0) < 0
                && input.shape().extent(0) > maxRows) {
            throw failure(
                    "input",
                    spec.name(),
                    ": at most " + maxRows + " rows are expected (max_batch_size), got "
                            + input.shape().extent(0));
        }
        if (input.shared()) {
            throw failure("input", spec.name(), ": local models do not support shared memory");
        }
        TensorCheck.INPUT.requireRaw(spec.name(), spec.type(), input.shape(), input.data());
    }

    private void require(List<RequestedOutput> outputs) {
        Set<String> requested = new HashSet<>();
        for (int i = 0; i < outputs.size(); i++) {
            String name = outputs.get(i).name();
            TensorSpec spec = signature.output(name);
            if (spec == null) {
                throw failure("output", name, " is not one of its outputs; they are " + names(signature.outputs()));
            }
            if (!requested.add(name)) {
                throw failure("output", name, " is requested twice");
            }
        }
    }

    private static List<String> names(List<TensorSpec> specs) {
        return specs.stream().map(TensorSpec::name).toList();
    }

    private OipException failure(String kind, String name, String what) {
        return OipException.invalid("model '" + model + "': " + kind + " '" + name + "'" + what);
    }
}
