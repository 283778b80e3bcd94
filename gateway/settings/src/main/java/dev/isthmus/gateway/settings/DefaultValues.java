package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueShape.Choice;
import dev.isthmus.gateway.settings.ValueShape.Items;
import dev.isthmus.gateway.settings.ValueShape.Names;
import dev.isthmus.gateway.settings.ValueShape.Scalar;
import dev.isthmus.gateway.settings.ValueShape.Section;
import java.lang.reflect.RecordComponent;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Makes sections with all defaults, and copies of sections with other values. */
public final class DefaultValues {
    private DefaultValues() {}

    /**
     * A section with the defaults of its keys: those of {@link Default}; else null, false or empty.
     *
     * @throws IllegalArgumentException if a key that may be missing has none, or an invalid one
     */
    public static <R extends Record> R of(Class<R> type) {
        return SectionReader.construct(
                type,
                Stream.of(type.getRecordComponents())
                        .filter(component -> component.getType() != ValueReferences.class)
                        .map(DefaultValues::value)
                        .toArray());
    }

    /**
     * A copy of a section.
     *
     * @param changes the names of components, each followed by its other value
     */
    public static <R extends Record> R with(R section, @Nullable Object... changes) {
        Map<Object, @Nullable Object> others = new HashMap<>();
        for (int i = 0; i < changes.length; i += 2) {
            others.put(String.valueOf(changes[i]), changes[i + 1]);
        }
        @SuppressWarnings("unchecked") // a record's class has no subclass
        Class<R> type = (Class<R>) section.getClass();
        RecordComponent[] components = type.getRecordComponents();
        @Nullable Object[] values = new @Nullable Object[components.length];
        try {
            for (int i = 0; i < values.length; i++) {
                String name = components[i].getName();
                values[i] = others.containsKey(name)
                        ? others.remove(name)
                        : components[i].getAccessor().invoke(section);
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("a section that cannot be read: " + type, e);
        }
        if (!others.isEmpty()) {
            throw new IllegalArgumentException(type + " has no " + others.keySet());
        }
        return SectionReader.construct(type, values);
    }

    /** The default of one key. */
    static @Nullable Object value(RecordComponent key) {
        ValueShape shape = ValueShapes.of(key.getGenericType(), key);
        Default written = key.getAnnotation(Default.class);
        if (written != null) {
            return shape instanceof Items items
                    ? items.whole()
                            .apply(Stream.of(written.value())
                                    .map(each -> read(items.item(), each))
                                    .toList())
                    : read(shape, written.value()[0]);
        }
        return key.getAnnotatedType().isAnnotationPresent(Nullable.class) ? null : empty(key, shape);
    }

    private static Object read(ValueShape shape, String text) {
        Object value = switch (shape) {
            case Scalar scalar -> scalar.read().apply(text);
            case Choice choice -> choice.constants().get(choice.names().indexOf(text));
            default -> null;
        };
        return Objects.requireNonNull(value, text);
    }

    private static Object empty(RecordComponent key, ValueShape shape) {
        boolean required = key.isAnnotationPresent(Required.class);
        return switch (shape) {
            case Section section -> of(section.type());
            case Items items -> items.whole().apply(List.of());
            case Names names -> Map.of();
            case Choice choice when required -> choice.constants().getFirst();
            case Scalar scalar when required -> key.getType() == Path.class ? Path.of("") : "";
            case Scalar scalar when key.getType() == boolean.class -> false;
            default -> throw new IllegalArgumentException("a key without a default: " + key);
        };
    }
}
