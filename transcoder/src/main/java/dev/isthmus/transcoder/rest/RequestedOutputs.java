package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.WireLimits;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A request's {@code outputs} while they are read, one object after the other. */
final class RequestedOutputs {
    private final WireLimits limits;
    private final List<RequestedOutput> complete = new ArrayList<>();
    private final Map<String, Boolean> binaryByName = new HashMap<>();
    private final Set<String> base64 = new HashSet<>();
    private String name = "";
    private Map<String, Parameter> parameters = new LinkedHashMap<>();
    private @Nullable Boolean binary;

    RequestedOutputs(WireLimits limits) {
        this.limits = limits;
    }

    void beginObject() {
        if (complete.size() == limits.tensors()) {
            throw OipException.invalid("outputs: at most " + limits.tensors() + " are accepted");
        }
        name = "";
        parameters = new LinkedHashMap<>();
        binary = null;
    }

    void name(String value) {
        TensorCheck.REQUESTED.requireName(value, limits);
        name = value;
    }

    void binary(boolean value) {
        binary = value;
    }

    Map<String, Parameter> parameters() {
        return parameters;
    }

    void endObject() {
        if (name.isEmpty()) {
            throw OipException.invalid(where("'name' is missing"));
        }
        TensorCheck.REQUESTED.requireMemory(name, parameters, limits);
        if (binary != null) {
            binaryByName.put(name, binary);
        }
        if (ParameterValue.base64(parameters)) {
            base64.add(name);
        }
        complete.add(new RequestedOutput(name, parameters));
    }

    /** A message about the output being read. */
    String where(String what) {
        TensorCheck check = name.isEmpty() ? TensorCheck.REQUESTED.at(complete.size()) : TensorCheck.REQUESTED;
        return check.where(name) + what;
    }

    void requireDistinct() {
        TensorCheck.REQUESTED.requireDistinct(complete, RequestedOutput::name);
    }

    List<RequestedOutput> list() {
        return complete;
    }

    OutputForms forms(boolean binaryByDefault) {
        return new OutputForms(binaryByDefault, binaryByName, base64, NonFinite.TOKEN);
    }
}
