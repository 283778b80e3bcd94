package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.json.ValueReader;
import java.util.Map;

/** Reads the object of a requested output. */
final class OutputReader extends ObjectReader {
    private final RequestedOutputs outputs;

    OutputReader(ReaderSettings settings, RequestedOutputs outputs) {
        super(settings);
        this.outputs = outputs;
        settings.held().heap(HeldMemory.OUTPUT);
        outputs.beginObject();
    }

    @Override
    ValueReader member(String key, int depth) {
        return key.equals("name") ? text(key, outputs::name) : skipped(depth);
    }

    @Override
    void end() {
        outputs.endObject();
    }

    @Override
    Map<String, Parameter> parameters() {
        return outputs.parameters();
    }

    @Override
    boolean consumes(String parameter, Parameter given) {
        boolean form = parameter.equals("binary_data");
        if (form) {
            outputs.binary(ParameterValue.bool(parameter, given));
        }
        return form;
    }

    @Override
    String where(String what) {
        return outputs.where(what);
    }
}
