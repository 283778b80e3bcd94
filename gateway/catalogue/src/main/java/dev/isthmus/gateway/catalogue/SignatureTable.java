package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.catalogue.MergedModel.ModelDescription;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.validation.DeclaredSignatures;
import dev.isthmus.gateway.validation.ModelSignature;
import dev.isthmus.gateway.validation.ModelSignatures;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * What the servers of each upstream declare of each model, as the last look-up has found it. It is read by calls on any
 * thread; all else is done on the catalogue's loop. Models that nobody has asked for since the last look-up are
 * forgotten, unless they are polled.
 */
final class SignatureTable implements ModelSignatures {
    /** How many models of upstreams are kept; those beyond it are not known. */
    static final int MAX_ENTRIES = 10_000;
    /** How many models may be looked up soon. */
    private static final int MAX_WANTED = 1_000;

    /** Later than the next poll of a model that is polled. */
    private static final long RENEWED_NANOS = Duration.ofSeconds(40).toNanos();
    /** A result lasts until the next look-up has ended. */
    private static final long KEPT_NANOS = Duration.ofSeconds(75).toNanos();

    private static final long REFUSED_NANOS = Duration.ofSeconds(1).toNanos();

    private final LongSupplier nanoTime;
    private final Map<ServedModel, SignatureEntry> known = new ConcurrentHashMap<>();
    /** The models to look up, as clients name them. */
    private final Set<ModelRef> wanted = ConcurrentHashMap.newKeySet();

    /** @param upstream its name */
    private record ServedModel(String upstream, ModelRef model) {}

    /** The result of a look-up; whether a call has asked for it since is marked without synchronization. */
    private static final class SignatureEntry {
        private final ModelRef requested;
        private final DeclaredSignatures declared;
        private final long readNanos;
        private volatile boolean used;

        SignatureEntry(ModelRef requested, DeclaredSignatures declared, long readNanos) {
            this.requested = requested;
            this.declared = declared;
            this.readNanos = readNanos;
        }
    }

    SignatureTable(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    @Override
    public DeclaredSignatures of(ModelRef requested, String upstream, ModelRef served) {
        SignatureEntry entry = known.get(new ServedModel(upstream, served));
        if (entry == null) {
            want(requested);
            return DeclaredSignatures.UNKNOWN;
        }
        if (!entry.used) {
            entry.used = true;
        }
        return entry.declared;
    }

    @Override
    public void refused(ModelRef requested, String upstream, ModelRef served) {
        SignatureEntry entry = known.get(new ServedModel(upstream, served));
        if (entry != null && nanoTime.getAsLong() - entry.readNanos > REFUSED_NANOS) {
            want(requested);
        }
    }

    private void want(ModelRef requested) {
        if (wanted.size() < MAX_WANTED) {
            wanted.add(requested);
        }
    }

    /**
     * A look-up has ended.
     *
     * @param complete whether all servers that may get a request have described the model, or do not have it
     */
    void found(ModelRef requested, List<ModelDescription> described, boolean complete) {
        Map<ServedModel, List<ModelMetadata>> byTarget = new LinkedHashMap<>();
        for (ModelDescription each : described) {
            byTarget.computeIfAbsent(
                            new ServedModel(each.source().upstream(), each.requested()), target -> new ArrayList<>())
                    .add(each.metadata());
        }
        long now = nanoTime.getAsLong();
        byTarget.forEach((target, metadata) -> {
            if (known.size() < MAX_ENTRIES || known.containsKey(target)) {
                known.put(target, new SignatureEntry(requested, declared(metadata, complete), now));
            }
        });
    }

    private static DeclaredSignatures declared(List<ModelMetadata> metadata, boolean complete) {
        List<ModelSignature> signatures = metadata.stream()
                .collect(Collectors.toMap(
                        each -> List.of(each.inputs(), each.outputs()),
                        ModelSignature::of,
                        (first, same) -> first,
                        LinkedHashMap::new))
                .values()
                .stream()
                .toList();
        return new DeclaredSignatures(signatures, complete);
    }

    /** The models to look up now: those that calls have asked for, and those whose last look-up is long ago. */
    Set<ModelRef> due() {
        long now = nanoTime.getAsLong();
        known.values().removeIf(entry -> now - entry.readNanos > KEPT_NANOS);
        Set<ModelRef> due = new LinkedHashSet<>();
        for (SignatureEntry entry : known.values()) {
            if (now - entry.readNanos > RENEWED_NANOS && entry.used) {
                due.add(entry.requested);
            }
        }
        wanted.removeIf(asked -> {
            due.add(asked);
            return true;
        });
        return due;
    }

    /** Models of these upstreams were loaded or unloaded. */
    void forget(Set<Upstream> upstreams) {
        Set<String> names = upstreams.stream().map(Upstream::name).collect(Collectors.toUnmodifiableSet());
        known.keySet().removeIf(model -> names.contains(model.upstream()));
    }
}
