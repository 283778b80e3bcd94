package dev.isthmus.gateway.catalogue;

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

/** What one server said when it was asked for its repository index. */
public sealed interface Listing {

    Source source();

    /** The server has these models. */
    record Listed(Source source, List<IndexEntry> entries) implements Listing {

        public Listed {
            entries = List.copyOf(entries);
        }
    }

    /** The server could not be asked: what it has is not known. */
    record Failed(Source source, OipException failure) implements Listing {}

    /** The index in the protocol's form; a failure where it has more than 100,000 entries. */
    static Listing of(Source source, RepositoryIndexResponse index) {
        if (index.getModelsCount() > Bounds.ENTRIES) {
            return tooLong(source, index.getModelsCount());
        }
        return new Listed(
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
     * KServe's list of models, which it has at {@code GET /v2/models} instead of an index: {@code {"models":["a","b"]}}.
     *
     * @param ready whether the model of this name is ready there, which the list does not say
     */
    static Listing ofNames(Source source, byte[] json, Predicate<String> ready) {
        JsonNode names;
        try {
            names = new ObjectMapper().readTree(json).path("models");
        } catch (IOException e) {
            return new Failed(source, notAList(source, e));
        }
        if (!names.isArray()) {
            return new Failed(source, notAList(source, null));
        }
        if (names.size() > Bounds.ENTRIES) {
            return tooLong(source, names.size());
        }
        List<IndexEntry> entries = new ArrayList<>(names.size());
        for (JsonNode name : names) {
            ModelState state = ready.test(name.asText()) ? ModelState.READY : ModelState.UNAVAILABLE;
            entries.add(new IndexEntry(name.asText(), "", state, ""));
        }
        return new Listed(source, entries);
    }

    private static OipException notAList(Source source, @Nullable IOException cause) {
        return new OipException(
                ErrorCode.BAD_UPSTREAM_ANSWER,
                "upstream '" + source.upstream() + "' sent a list of models that is not {\"models\": [...]}",
                cause);
    }

    private static Listing tooLong(Source source, int entries) {
        return new Failed(
                source,
                new OipException(
                        ErrorCode.BAD_UPSTREAM_ANSWER,
                        "upstream '" + source.upstream() + "' sent an index of " + entries + " models, at most "
                                + Bounds.ENTRIES + " are read"));
    }
}
