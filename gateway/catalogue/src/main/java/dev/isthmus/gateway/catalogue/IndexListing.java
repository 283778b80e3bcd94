package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.RepositoryIndexResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The result of requesting one server's repository index. */
public sealed interface IndexListing {

    ServerId source();

    /** Whether both say the same; equal failures are different exceptions. */
    default boolean sameAs(IndexListing other) {
        if (this instanceof FailedListing(ServerId source, OipException failure)
                && other instanceof FailedListing(ServerId otherSource, OipException otherFailure)) {
            return source.equals(otherSource)
                    && failure.code() == otherFailure.code()
                    && failure.message().equals(otherFailure.message());
        }
        return equals(other);
    }

    /** The server's models. */
    record ListedModels(ServerId source, List<IndexEntry> entries) implements IndexListing {

        public ListedModels {
            entries = List.copyOf(entries);
        }
    }

    /** The request failed: the server's models are unknown. */
    record FailedListing(
            @JsonUnwrapped ServerId source, @JsonIgnore OipException failure) implements IndexListing {

        @JsonProperty
        ErrorCode code() {
            return failure.code();
        }

        @JsonProperty
        String reason() {
            return MetadataLimits.reason(failure.message());
        }
    }

    /** From the protocol's index; a failure if it has more than 100,000 entries. */
    static IndexListing of(ServerId source, RepositoryIndexResponse index) {
        if (index.getModelsCount() > MetadataLimits.ENTRIES) {
            return tooLong(source, index.getModelsCount());
        }
        return new ListedModels(
                source,
                index.getModelsList().stream()
                        .map(model -> new IndexEntry(
                                model.getName(),
                                model.getVersion(),
                                ModelState.of(model.getState()),
                                model.getReason()))
                        .toList());
    }

    /**
     * From KServe's list of models, which it serves at {@code GET /v2/models} instead of an index: {@code
     * {"models":["a","b"]}}.
     *
     * @param ready whether the model of this name is ready there, which the list does not say
     */
    static IndexListing ofNames(ServerId source, byte[] json, Predicate<String> ready) {
        JsonNode names;
        try {
            names = new ObjectMapper().readTree(json).path("models");
        } catch (IOException e) {
            return new FailedListing(source, notAList(source, e));
        }
        if (!names.isArray()) {
            return new FailedListing(source, notAList(source, null));
        }
        if (names.size() > MetadataLimits.ENTRIES) {
            return tooLong(source, names.size());
        }
        List<IndexEntry> entries = new ArrayList<>(names.size());
        for (JsonNode name : names) {
            ModelState state = ready.test(name.asText()) ? ModelState.READY : ModelState.UNAVAILABLE;
            entries.add(new IndexEntry(name.asText(), "", state, ""));
        }
        return new ListedModels(source, entries);
    }

    private static OipException notAList(ServerId source, @Nullable IOException cause) {
        return new OipException(
                ErrorCode.BAD_UPSTREAM_ANSWER,
                "upstream '" + source.upstream() + "' sent a list of models that is not {\"models\": [...]}",
                cause);
    }

    private static IndexListing tooLong(ServerId source, int entries) {
        return new FailedListing(
                source,
                new OipException(
                        ErrorCode.BAD_UPSTREAM_ANSWER,
                        "upstream '" + source.upstream() + "' sent an index of " + entries
                                + " models, expected at most " + MetadataLimits.ENTRIES));
    }
}
