package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueShape.Items;
import dev.isthmus.gateway.settings.ValueShape.Names;
import dev.isthmus.gateway.settings.ValueShape.Section;
import dev.isthmus.gateway.settings.YamlReader.ReadableNodes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.nodes.Node;

/**
 * Reports what is wrong with one section that was read. Values that could not be read were replaced by defaults: checks
 * that they might fail for no other reason ask first whether they were {@link #valid}.
 *
 * @param name of the section in messages
 */
record SectionCheck(SectionChecks all, Record section, String name) {

    /** Reports problems of another section under this one's name. */
    SectionCheck at(Record other) {
        return new SectionCheck(all, other, name);
    }

    /** Reports problems under another name. */
    SectionCheck named(String other) {
        return new SectionCheck(all, section, other);
    }

    /** Whether the section was read without problems. */
    boolean valid() {
        return all.nodes.valid(node());
    }

    /** Whether these keys were read without problems, and none of the section's keys is unknown. */
    boolean valid(String... keys) {
        return all.nodes.valid(node(), Set.of(keys));
    }

    /** Whether a key's value has the right type; problems inside it do not count. */
    boolean readable(String key) {
        return all.nodes.readable(node(key));
    }

    /** The whole configuration has no name. */
    private String prefix() {
        return name.isEmpty() ? "" : name + ": ";
    }

    private Node node() {
        return all.positions.of(section);
    }

    private Node node(String key) {
        return all.positions.of(section, key);
    }

    /** A problem of the section as a whole. */
    void problem(String text) {
        all.yaml.problem(node(), prefix() + text);
    }

    /** A problem of a key's value. */
    void problem(String key, String text) {
        all.yaml.problem(node(key), prefix() + key + ": " + text);
    }

    /** A problem that is reported at a key's value, but is not named after it. */
    void problemAt(String key, String text) {
        all.yaml.problem(node(key), prefix() + text);
    }

    /** A problem that is reported at the value of a name in the map of this key. */
    void problemAtNamed(String key, String member, String text) {
        all.yaml.problem(all.positions.below(node(key), member), prefix() + text);
    }

    /** A problem that is reported at a name in the map of this key. */
    void problemAtName(String key, String member, String text) {
        all.yaml.problem(all.positions.ofName(section, key, member), prefix() + text);
    }

    /** A problem that is reported at an item of the list of this key. */
    void problemAtItem(String key, int index, int size, String text) {
        all.yaml.problem(all.positions.of(section, key, index, size), prefix() + text);
    }

    /**
     * Expects something of a key's value.
     *
     * @param expectation "at least 5s is expected"
     * @param got the value as text
     */
    void expect(boolean holds, String key, String expectation, @Nullable Object got) {
        if (!holds) {
            problem(key, expectation + ", got '" + got + "'");
        }
    }

    /** The same of a value that may be absent. */
    void expect(Predicate<String> holds, String key, String expectation, @Nullable String got) {
        expect(got == null || holds.test(got), key, expectation, got);
    }

    /** Expects at most this time, which is written as messages show it. */
    void atMost(String key, @Nullable Duration value, String most) {
        if (value != null && value.compareTo(Objects.requireNonNull(Units.duration(most))) > 0) {
            problem(key, "at most " + most + " is expected, got '" + Units.written(value) + "'");
        }
    }

    /**
     * Expects that no item is there twice.
     *
     * @param what an item is, for messages
     */
    void unique(String key, List<?> items, String what) {
        Set<Object> seen = new HashSet<>();
        for (int i = 0; i < items.size(); i++) {
            if (!seen.add(items.get(i)) && all.nodes.readable(all.positions.of(section, key, i, items.size()))) {
                problemAtItem(key, i, items.size(), what + ": " + items.get(i) + " is given twice");
            }
        }
    }

    /** Expects certificates in a file, if there is one. */
    void authorities(String key, @Nullable Path file) {
        if (file != null) {
            reads(key, () -> TlsFiles.certificates(file));
        }
    }

    /** Expects that a file can be read. */
    void reads(String key, Runnable reading) {
        try {
            reading.run();
        } catch (TlsFileException e) {
            problem(key, String.valueOf(e.getMessage()));
        }
    }

    /** Expects a certificate and its key in the files of the keys {@code certificate} and {@code key}. */
    void keyed(Path certificate, Path key) {
        try {
            TlsFiles.keyed(certificate, key);
        } catch (TlsFileException e) {
            problem(
                    e.file().equals(key) && !key.equals(certificate) ? "key" : "certificate",
                    String.valueOf(e.getMessage()));
        }
    }

    /** The same for the gateway's own certificate as a client, if it has one. */
    void ownCertificate(@Nullable Path certificate, @Nullable Path key) {
        if (certificate != null && key != null) {
            keyed(certificate, key);
        } else if (certificate != null || key != null) {
            problem("'certificate' and 'key' are expected together");
        }
    }

    /** Expects a file that only its owner and group can read, if there is one. */
    void secret(String key, @Nullable Path file) {
        String problem = file == null ? null : SecretFile.problem(file, SecretFile::exposure);
        if (problem != null) {
            problem(key, file + " " + problem);
        }
    }

    /** Expects a file that can be written, if there is one: it is opened much later, and what cannot be written is lost. */
    void written(String key, @Nullable Path file) {
        String problem = file == null ? null : unwritable(file);
        if (problem != null) {
            problem(key, problem);
        }
    }

    /** Why a file cannot be written: "the folder of /var/log/a/b does not exist"; null if it can. Blocks. */
    private static @Nullable String unwritable(Path file) {
        if (Files.isDirectory(file)) {
            return "a file is expected, got the folder " + file;
        }
        if (Files.exists(file)) {
            return Files.isWritable(file) ? null : file + " cannot be written";
        }
        Path folder = file.toAbsolutePath().getParent();
        if (folder == null || !Files.exists(folder)) {
            return "the folder of " + file + " does not exist";
        }
        if (!Files.isDirectory(folder)) {
            return folder + " is not a folder";
        }
        return Files.isWritable(folder) ? null : "the folder of " + file + " cannot be written";
    }

    /** Has every section of a configuration {@linkplain CheckedSection check itself}. */
    static final class SectionChecks {
        private final YamlReader yaml;
        private final SectionPositions positions;
        private final IdentityHashMap<Record, String> names = new IdentityHashMap<>();
        private ReadableNodes nodes;

        SectionChecks(YamlReader yaml, SectionPositions positions) {
            this.yaml = yaml;
            this.positions = positions;
            nodes = yaml.readableNodes();
        }

        /** For what a section has to do with others, under the name that it had in {@link #run}. */
        SectionCheck of(Record section) {
            return new SectionCheck(this, section, names.getOrDefault(section, ""));
        }

        /**
         * Checks a section and those in it.
         *
         * @param path of its keys, for messages
         */
        void run(Record section, String path) {
            if (section instanceof UpstreamConfig) {
                // A problem in a node shared by several upstreams is reported for the first one only.
                nodes = yaml.readableNodes();
            }
            String name = section instanceof CheckedSection checked ? checked.label(path) : path;
            names.put(section, name);
            if (section instanceof CheckedSection checked) {
                checked.check(of(section));
            }
            for (ConfigKey key : ConfigKey.of(section.getClass())) {
                Object value = key.value(section);
                if (value != null) {
                    below(key.shape(), value, name, key.name());
                }
            }
        }

        private void below(ValueShape shape, Object value, String parent, String key) {
            if (shape instanceof Section) {
                run((Record) value, SectionReader.child(parent, key));
            } else if (shape instanceof Items items && items.item() instanceof Section) {
                items.parts().apply(value).forEach(each -> run((Record) each, item(parent, key)));
            } else if (shape instanceof Names named && named.value() instanceof Section) {
                new TreeMap<>((Map<?, ?>) value)
                        .forEach((name, each) -> run((Record) each, item(parent, key) + " '" + name + "'"));
            }
        }

        private static String item(String parent, String key) {
            return SectionReader.child(parent, SectionReader.singular(key));
        }
    }
}
