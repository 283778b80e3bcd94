package dev.isthmus.local.ort;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import java.util.HashMap;
import java.util.Map;

/** Whether a request fits a model. ONNX Runtime itself runs into missing inputs and accepts odd sizes. */
final class ModelCheck {
    private ModelCheck() {}

    /** @throws OipException INVALID_ARGUMENT naming model, tensor, value and expectation */
    static void require(OnnxModel model, InferRequest request) {
        String name = "model '" + model.ref().name() + "': ";
        Map<String, TensorMetadata> missing = new HashMap<>();
        model.inputs().forEach(input -> missing.put(input.name(), input));
        for (Tensor input : request.inputs()) {
            TensorMetadata expected = missing.remove(input.name());
            String what = name + "input '" + input.name() + "'";
            if (expected == null) {
                throw OipException.invalid(what + " is not one of its inputs, or is given twice; they are "
                        + model.inputs().stream().map(TensorMetadata::name).toList());
            }
            if (!expected.dataType().equals(input.dataType().name())) {
                throw OipException.invalid(
                        what + ": datatype " + expected.dataType() + " is expected, got " + input.dataType());
            }
            if (!fits(input.shape(), expected.shape())) {
                throw OipException.invalid(what + ": shape " + expected.shape() + " is expected, got " + input.shape());
            }
        }
        if (!missing.isEmpty()) {
            throw OipException.invalid(
                    name + "input '" + missing.keySet().iterator().next() + "' is missing");
        }
        for (RequestedOutput output : request.outputs()) {
            if (model.outputs().stream().noneMatch(known -> known.name().equals(output.name()))) {
                throw OipException.invalid(name + "output '" + output.name() + "' is not one of its outputs; they are "
                        + model.outputs().stream().map(TensorMetadata::name).toList());
            }
        }
    }

    private static boolean fits(Shape shape, Shape expected) {
        boolean fits = shape.rank() == expected.rank();
        for (int i = 0; fits && i < shape.rank(); i++) {
            fits = expected.extent(i) < 0 || expected.extent(i) == shape.extent(i);
        }
        return fits;
    }
}
