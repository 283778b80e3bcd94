package dev.isthmus.gateway.settings;

import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A key of a section of the configuration: a component of the section's record.
 *
 * @param doc description from {@link Doc}
 * @param byDefault default value, null for none; meaningless if the key is required
 * @param defaults the sibling key with defaults for all of its sections; null if there is none
 * @param defaultsFrom the key of the file with defaults for this section; null if there is none
 */
record ConfigKey(
        String name,
        String doc,
        boolean required,
        @Nullable Object byDefault,
        ValueShape shape,
        @Nullable DefaultsKey defaults,
        @Nullable DefaultsFrom defaultsFrom,
        Method accessor) {

    /** A large configuration has thousands of sections of a type. */
    private static final ClassValue<List<ConfigKey>> KEYS = new ClassValue<>() {
        @Override
        protected List<ConfigKey> computeValue(Class<?> type) {
            return found(type.asSubclass(Record.class));
        }
    };

    private static final ClassValue<Set<String>> NAMES = new ClassValue<>() {
        @Override
        protected Set<String> computeValue(Class<?> type) {
            return KEYS.get(type).stream()
                    .flatMap(key ->
                            key.defaults == null ? Stream.of(key.name) : Stream.of(key.defaults.value(), key.name))
                    .collect(Collectors.toSet());
        }
    };

    /** The keys of a section, in declaration order. */
    static List<ConfigKey> of(Class<? extends Record> type) {
        return KEYS.get(type);
    }

    private static List<ConfigKey> found(Class<? extends Record> type) {
        // The record of an added layer may refuse its defaults.
        Record defaults = LayerSettings.class.isAssignableFrom(type) ? null : DefaultValues.of(type);
        try {
            List<ConfigKey> keys = new ArrayList<>();
            for (RecordComponent component : type.getRecordComponents()) {
                if (component.getType() == ValueReferences.class) {
                    continue;
                }
                ValueShape shape = ValueShapes.of(component.getGenericType(), component);
                keys.add(new ConfigKey(
                        name(component),
                        doc(component, shape),
                        component.isAnnotationPresent(Required.class),
                        defaults == null
                                ? DefaultValues.value(component)
                                : component.getAccessor().invoke(defaults),
                        shape,
                        component.getAnnotation(DefaultsKey.class),
                        component.getAnnotation(DefaultsFrom.class),
                        component.getAccessor()));
            }
            return List.copyOf(keys);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("a section whose keys cannot be read: " + type, e);
        }
    }

    /** The description of a section. */
    static String doc(Class<? extends Record> type) {
        Doc doc = type.getAnnotation(Doc.class);
        return doc == null ? "" : doc.value();
    }

    /** For a map of sections: the shape of each. */
    ValueShape.Section sections() {
        return (ValueShape.Section) ((ValueShape.Names) shape).value();
    }

    /** The names of the keys of a section, and those of their {@link #defaults}. */
    static Set<String> names(Class<? extends Record> type) {
        return NAMES.get(type);
    }

    @Nullable
    Object value(Record section) {
        try {
            return accessor.invoke(section);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("key '" + name + "' cannot be read", e);
        }
    }

    private static String name(RecordComponent component) {
        Doc doc = component.getAnnotation(Doc.class);
        return doc != null && !doc.key().isEmpty()
                ? doc.key()
                : component.getName().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
    }

    private static String doc(RecordComponent component, ValueShape shape) {
        Doc doc = component.getAnnotation(Doc.class);
        String ofType = shape instanceof ValueShape.Section section ? doc(section.type()) : "";
        return doc == null ? ofType : doc.value();
    }
}
