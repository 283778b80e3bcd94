package dev.isthmus.gateway.settings;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The type of a configuration key's value, derived from its component's type and annotations by {@link ValueShapes}.
 */
sealed interface ValueShape {

    /** The value in the form of a file: text, a number, true or false, a list or a map. */
    Object written(Object value);

    /**
     * A single word or number.
     *
     * @param expectation for messages: "a duration such as 60s"
     * @param schema the keywords of its JSON Schema
     * @param read parses text; returns null if it is invalid
     * @param write formats a value
     * @param why why a text is invalid, as ", which ..."; may be empty
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

    /** One of several words: an enum's constants, as text, in lower case. */
    record Choice(List<? extends Enum<?>> constants) implements ValueShape {
        List<String> names() {
            return constants.stream().map(Choice::name).toList();
        }

        @Override
        public Object written(Object value) {
            return name((Enum<?>) value);
        }

        private static String name(Enum<?> constant) {
            return constant.toString().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * A list.
     *
     * @param orSingle whether one section stands for a list of it
     * @param whole converts the items to the component's value
     * @param parts converts the value to items, in a deterministic order
     */
    record Items(
            ValueShape item,
            boolean notEmpty,
            boolean orSingle,
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
     * @param headers whether the names are header names
     */
    record Names(ValueShape value, boolean headers) implements ValueShape {
        @Override
        public Object written(Object map) {
            Map<String, Object> written = new TreeMap<>();
            ((Map<?, ?>) map).forEach((name, each) -> written.put((String) name, value.written(each)));
            return written;
        }
    }

    /** The section of a layer that a jar brings: which keys it has depends on the layer that is named beside it. */
    record AddedSettings() implements ValueShape {
        @Override
        public Object written(Object settings) {
            return new Section(((Record) settings).getClass()).written(settings);
        }
    }

    /** A section with its own keys. */
    record Section(Class<? extends Record> type) implements ValueShape {
        List<ConfigKey> keys() {
            return ConfigKey.of(type);
        }

        /** The key whose value alone is short for the section; null if there is none. */
        @Nullable
        String shortForm() {
            ShortForm form = type.getAnnotation(ShortForm.class);
            return form == null ? null : form.value();
        }

        @Override
        public Object written(Object section) {
            Map<String, Object> written = new LinkedHashMap<>();
            put((Record) section, written);
            return written;
        }

        void put(Record section, Map<String, Object> document) {
            for (ConfigKey key : keys()) {
                Object value = key.value(section);
                if (value != null) {
                    document.put(key.name(), key.shape().written(value));
                }
            }
        }
    }
}
