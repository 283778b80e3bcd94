package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueShape.AddedSettings;
import dev.isthmus.gateway.settings.ValueShape.Choice;
import dev.isthmus.gateway.settings.ValueShape.Items;
import dev.isthmus.gateway.settings.ValueShape.Names;
import dev.isthmus.gateway.settings.ValueShape.Scalar;
import dev.isthmus.gateway.settings.ValueShape.Section;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Derives value shapes from the types of record components. */
final class ValueShapes {
    static final String HEADER = "[!#$%&'+.^_`|~0-9A-Za-z-]+";
    private static final String NUMBER = "[0-9]{1,10}(\\.[0-9]{1,12})?([eE]-?[0-9]{1,2})?";
    // DNS names, and _ as in Docker networks.
    private static final String NAME = "[0-9A-Za-z_]([0-9A-Za-z_.-]*[0-9A-Za-z_.])?";
    private static final String ADDRESS = "(\\[[0-9a-fA-F:.]+]|" + NAME + "):[0-9]{1,5}";
    private static final String HOST_NAME = "[0-9a-fA-F]*:[0-9a-fA-F:.]+|" + NAME;
    private static final String HOST_PATTERN = "\\*|\\*\\." + NAME + "|" + HOST_NAME;
    private static final String SERVICE = "srv:[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?";
    private static final String LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
    // A port's name has a letter, so that it is not taken for a number.
    private static final String KUBERNETES_SERVICE =
            "k8s:(" + LABEL + ")/(" + LABEL + ")(:([0-9][0-9-]*)?[a-z]([a-z0-9-]{0,61}[a-z0-9])?)?";
    private static final Pattern ENDPOINT = Pattern.compile(ADDRESS);
    private static final int MAX_PORT = 65_535;
    static final Map<String, Object> ANY_TEXT = ordered("type", "string", "pattern", "\\S");

    private static final Scalar TEXT = scalar(
            "text",
            ordered("type", List.of("string", "number", "boolean"), "pattern", "\\S"),
            text -> text.isBlank() ? null : text);
    private static final Scalar SECRET =
            new Scalar("text", TEXT.schema(), text -> text.isBlank() ? null : new SecretText(text), value -> value);
    private static final Scalar HEADER_NAME = scalar(
            "a header name", pattern(HEADER), text -> text.matches(HEADER) ? text.toLowerCase(Locale.ROOT) : null);
    private static final Scalar HEADER_PATTERN =
            scalar("a header name, or a prefix followed by *", pattern(HEADER + "\\*?"), ValueShapes::headerPattern);
    private static final Scalar HOST =
            scalar("a host name or IP address", pattern(HOST_NAME), text -> text.matches(HOST_NAME) ? text : null);
    private static final Scalar HOSTS = scalar(
            "a host, *.SUFFIX, or * for any", pattern(HOST_PATTERN), text -> text.matches(HOST_PATTERN) ? text : null);
    private static final Scalar BOOLEAN = new Scalar(
            "true or false",
            Map.of("type", "boolean"),
            text -> switch (text) {
                case "true" -> true;
                case "false" -> false;
                default -> null;
            },
            value -> value);
    private static final Scalar SERVER = new Scalar(
            "host:port with a port from 1 to 65535, srv:NAME, or k8s:NAMESPACE/SERVICE:PORT-NAME",
            pattern(SERVICE + "|" + KUBERNETES_SERVICE + "|" + ADDRESS),
            ValueShapes::serverAddress,
            Object::toString,
            text -> text.contains("://") ? "; 'tls', 'host' and 'path_prefix' say the rest of a URL" : "");
    private static final Scalar HOST_AND_PORT = new Scalar(
            "host:port with a port from 1 to 65535",
            pattern(ADDRESS),
            ValueShapes::endpoint,
            value -> ((Endpoint) value).authority());
    private static final Scalar RANGE = scalar(
            "an IP address, or a range such as 10.0.0.0/8 or fd00::/8 with zeros after the prefix",
            pattern("[0-9a-fA-F:.]+(/[0-9]{1,3})?"),
            AddressRange::parse);
    private static final Scalar ORIGIN = scalar(
            "an origin such as https://app.example.com, https://*.example.com, http://localhost:*, without a path and "
                    + "the scheme's own port, or * for all",
            pattern(OriginPattern.GRAMMAR),
            OriginPattern::parse);
    private static final Scalar SIZE = new Scalar(
            "a size such as 64MiB, of at most 1GiB",
            ordered(
                    "type",
                    List.of("string", "integer"),
                    "pattern",
                    whole(Units.SIZE),
                    "minimum",
                    1,
                    "maximum",
                    Units.MAX_SIZE),
            Units::readSize,
            value -> Units.size((int) value),
            Units::sizeProblem);
    private static final Scalar SHARE = new Scalar(
            "a share such as 20% or 0.5%",
            pattern(Units.SHARE), Units::readShare, value -> Units.share((double) value));

    private ValueShapes() {}

    /**
     * The shape of a component.
     *
     * @throws IllegalArgumentException for an unsupported type
     */
    static ValueShape of(Type type, AnnotatedElement marks) {
        if (type instanceof ParameterizedType many) {
            return ofMany(many, marks);
        }
        Class<?> plain = (Class<?>) type;
        if (plain == String.class) {
            return text(marks);
        } else if (plain == boolean.class) {
            return BOOLEAN;
        } else if (plain == int.class || plain == Integer.class) {
            return integer(marks);
        } else if (plain == double.class || plain == Double.class) {
            return marks.isAnnotationPresent(Share.class) ? SHARE : number(range(marks));
        } else if (plain == Duration.class) {
            return duration(marks.isAnnotationPresent(OrZero.class));
        } else if (plain == Path.class) {
            return scalar("a path", ANY_TEXT, ValueShapes::path);
        } else if (plain == SecretText.class) {
            return SECRET;
        } else if (plain == ServerAddress.class) {
            return SERVER;
        } else if (plain == Endpoint.class) {
            return HOST_AND_PORT;
        } else if (plain == AddressRange.class) {
            return RANGE;
        } else if (plain == OriginPattern.class) {
            return ORIGIN;
        } else if (plain == HeaderAllowList.class) {
            return new Items(HEADER_PATTERN, false, false, ValueShapes::headerNames, ValueShapes::headerNames);
        } else if (plain == LayerSettings.class) {
            return new AddedSettings();
        } else if (plain.isEnum()) {
            List<Enum<?>> constants = new ArrayList<>();
            for (Object constant : plain.getEnumConstants()) {
                constants.add((Enum<?>) constant);
            }
            return new Choice(constants);
        } else if (plain.isRecord()) {
            return new Section(plain.asSubclass(Record.class));
        }
        throw new IllegalArgumentException("no configuration values of " + type + " are supported");
    }

    private static Scalar text(AnnotatedElement marks) {
        if (marks.isAnnotationPresent(HeaderName.class)) {
            return HEADER_NAME;
        }
        HostName host = marks.getAnnotation(HostName.class);
        return host == null ? TEXT : host.pattern() ? HOSTS : HOST;
    }

    /** Null for a text that is none. */
    static @Nullable Path path(String text) {
        try {
            return text.isBlank() ? null : Path.of(text);
        } catch (InvalidPathException e) {
            return null;
        }
    }

    private static ValueShape ofMany(ParameterizedType type, AnnotatedElement marks) {
        Type[] of = type.getActualTypeArguments();
        if (type.getRawType() == Map.class) {
            boolean headers = marks.isAnnotationPresent(HeaderName.class);
            return new Names(headers && of[1] == String.class ? TEXT : of(of[1], marks), headers);
        }
        boolean set = type.getRawType() == Set.class;
        if (!set && type.getRawType() != List.class) {
            throw new IllegalArgumentException("no configuration values of " + type + " are supported");
        }
        return new Items(
                of(of[0], marks),
                marks.isAnnotationPresent(NotEmpty.class),
                marks.isAnnotationPresent(OrSingle.class),
                items -> set ? Set.copyOf(items) : List.copyOf(items),
                value -> List.copyOf(set ? new TreeSet<>((Set<?>) value) : (List<?>) value));
    }

    private static Scalar integer(AnnotatedElement marks) {
        if (marks.isAnnotationPresent(Size.class)) {
            return SIZE;
        }
        OneOf only = marks.getAnnotation(OneOf.class);
        if (only != null) {
            Map<String, Object> byText = new LinkedHashMap<>();
            Arrays.stream(only.value()).forEach(each -> byText.put(Integer.toString(each), each));
            return new Scalar(
                    String.join(" or ", byText.keySet()),
                    Map.of("enum", List.copyOf(byText.values())),
                    byText::get,
                    value -> value);
        }
        Range range = range(marks);
        long from = (long) range.min();
        long to = (long) range.max();
        return new Scalar(
                "a whole number from " + from + " to " + to,
                ordered("type", "integer", "minimum", from, "maximum", to),
                text -> {
                    long number = text.matches("[0-9]{1,10}") ? Long.parseLong(text) : -1;
                    return number < from || number > to ? null : (int) number;
                },
                value -> value);
    }

    private static Scalar number(Range range) {
        BigDecimal from = new BigDecimal(range.min()).stripTrailingZeros();
        BigDecimal to = BigDecimal.valueOf((long) range.max());
        return new Scalar(
                "a number from " + from.toPlainString() + " to " + to.toPlainString(),
                ordered("type", "number", "minimum", from, "maximum", to),
                text -> {
                    double number = text.matches(NUMBER) ? Double.parseDouble(text) : -1;
                    return number < range.min() || number > range.max() ? null : number;
                },
                value -> value);
    }

    private static Range range(AnnotatedElement marks) {
        Range range = marks.getAnnotation(Range.class);
        if (range == null) {
            throw new IllegalArgumentException("a number without a range: " + marks);
        }
        return range;
    }

    private static Scalar duration(boolean orZero) {
        return new Scalar(
                "a duration such as 500ms, 1.5s, 1m30s" + (orZero ? ", or 0s" : ""),
                pattern(orZero ? Units.DURATION_OR_ZERO : Units.DURATION),
                text -> Units.readDuration(text, orZero),
                value -> Units.written((Duration) value),
                Units::durationProblem);
    }

    private static @Nullable String headerPattern(String text) {
        boolean allowed = text.endsWith("*") || !HeaderAllowList.forbidden(text.toLowerCase(Locale.ROOT));
        return allowed && text.matches(HEADER + "\\*?") ? text : null;
    }

    private static HeaderAllowList headerNames(List<Object> names) {
        return HeaderAllowList.of(names.stream().map(String.class::cast).toList());
    }

    private static List<Object> headerNames(Object value) {
        HeaderAllowList names = (HeaderAllowList) value;
        List<Object> all = new ArrayList<>(new TreeSet<>(names.exact()));
        names.prefixes().forEach(prefix -> all.add(prefix + "*"));
        return all;
    }

    private static @Nullable ServerAddress serverAddress(String text) {
        if (text.matches(SERVICE) && !ENDPOINT.matcher(text).matches()) {
            return new ServerAddress.SrvAddress(text.substring("srv:".length()));
        }
        if (text.matches(KUBERNETES_SERVICE)) {
            String[] parts = text.split("[:/]", -1);
            return new ServerAddress.KubernetesService(parts[1], parts[2], parts.length > 3 ? parts[3] : null);
        }
        Endpoint endpoint = endpoint(text);
        return endpoint == null ? null : new ServerAddress.HostAddress(endpoint);
    }

    private static @Nullable Endpoint endpoint(String text) {
        Matcher matcher = ENDPOINT.matcher(text);
        if (!matcher.matches()) {
            return null;
        }
        int colon = text.lastIndexOf(':');
        int port = Integer.parseInt(text.substring(colon + 1));
        String host = text.substring(0, colon).replaceAll("[\\[\\]]", "");
        return port < 1 || port > MAX_PORT ? null : new Endpoint(host, port);
    }

    private static Scalar scalar(
            String expectation, Map<String, Object> schema, Function<String, @Nullable Object> read) {
        return new Scalar(expectation, schema, read, Object::toString);
    }

    private static Map<String, Object> pattern(String regex) {
        return ordered("type", "string", "pattern", whole(regex));
    }

    private static String whole(String regex) {
        return "^(" + regex + ")$";
    }

    /** Keywords of a schema with their values, in this order. */
    static Map<String, Object> ordered(Object... keywords) {
        Map<String, Object> ordered = new LinkedHashMap<>();
        for (int i = 0; i < keywords.length; i += 2) {
            ordered.put((String) keywords[i], keywords[i + 1]);
        }
        return ordered;
    }
}
