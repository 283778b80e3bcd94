package dev.isthmus.gateway.settings;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What a key of the configuration takes; told by its component's type and annotations, see {@link ValueShapes}. */
sealed interface ValueShape {

    /** The value as a file has it: text, a number, true or false, a list or a map. */
    Object written(Object value);

    /**
     * One word or number.
     *
     * @param expectation what it must be: "a duration such as 60s"
     * @param schema the keywords of its JSON Schema
     * @param read null where the text is none
     * @param write the reverse
     * @param why what a text that is none lacks, as ", which ..."; empty where nothing is to be said
     */
    record Scalar(
            String expectation,
            Map<String, Object> schema,
            Function<String, @Nullable Object> read,
            Function<Object, Object> write,
            Function<String, String> why)
            implements ValueShape {
        Scalar(
                String expectation,
                Map<String, Object> schema,
                Function<String, @Nullable Object> read,
                Function<Object, Object> write) {
            this(expectation, schema, read, write, text -> "");
        }

        @Override
        public Object written(Object value) {
            return write.apply(value);
        }
    }

    /** One of some words: an enum's constants in lower case. */
    record Choice(List<? extends Enum<?>> constants) implements ValueShape {
        List<String> names() {
            return constants.stream().map(Choice::name).toList();
        }

        @Override
        public Object written(Object value) {
            return name((Enum<?>) value);
        }

        private static String name(Enum<?> constant) {
            return constant.name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * A list.
     *
     * @param whole what the component holds, of the items
     * @param parts the reverse, in an order that is always the same
     */
    record Items(
            ValueShape item,
            boolean notEmpty,
            Function<List<Object>, Object> whole,
            Function<Object, List<Object>> parts)
            implements ValueShape {
        @Override
        public Object written(Object value) {
            List<Object> written = new ArrayList<>();
            parts.apply(value).forEach(each -> written.add(item.written(each)));
            return written;
        }
    }

    /**
     * Values by name.
     *
     * @param headers whether the names are those of headers
     */
    record Names(ValueShape value, boolean headers) implements ValueShape {
        @Override
        public Object written(Object map) {
            Map<String, Object> written = new TreeMap<>();
            ((Map<?, ?>) map).forEach((name, each) -> written.put((String) name, value.written(each)));
            return written;
        }
    }

    /** Keys of their own. */
    record Section(Class<? extends Record> type) implements ValueShape {
        List<ConfigKey> keys() {
            return ConfigKey.of(type);
        }

        @Override
        public Object written(Object section) {
            Map<String, Object> written = new LinkedHashMap<>();
            for (ConfigKey key : keys()) {
                Object value = key.value((Record) section);
                if (value != null) {
                    written.put(key.name(), key.shape().written(value));
                }
            }
            return written;
        }
    }
}
