package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import org.apache.commons.cli.Option;
import org.jspecify.annotations.Nullable;

/** Options in the forms that several commands have, and their values. */
final class CommandOptions {
    private CommandOptions() {}

    /** An option with a value. */
    static Option valued(String name, String value, String description) {
        return valued(Option.builder(), name, value, description);
    }

    /** As {@link #valued(String, String, String)}, with a letter. */
    static Option valued(String letter, String name, String value, String description) {
        return valued(Option.builder(letter), name, value, description);
    }

    private static Option valued(Option.Builder option, String name, String value, String description) {
        return option.longOpt(name).hasArg().argName(value).desc(description).get();
    }

    /** {@code --output} with one of these words, the first by default. */
    static Option output(String description, String... words) {
        return valued("o", "output", String.join("|", words), description + " Default: " + words[0] + ".");
    }

    /** The words of which an option has one; empty if it may have any value. */
    static List<String> words(Option option) {
        String name = option.getArgName();
        return name == null || !name.contains("|") ? List.of() : List.of(name.split("\\|"));
    }

    /** An option without a value. */
    static Option flag(String name, String description) {
        return Option.builder().longOpt(name).desc(description).get();
    }

    /**
     * One of these words; the first if the option is absent.
     *
     * @throws UsageException if it is another one
     */
    static String word(Arguments arguments, Option option, String... words) throws UsageException {
        String text = arguments.text(option);
        if (text == null) {
            return words[0];
        }
        if (!List.of(words).contains(text)) {
            throw new UsageException(
                    name(option) + ": one of " + String.join(", ", words) + " is expected, got '" + text + "'");
        }
        return text;
    }

    /**
     * A number from 1.
     *
     * @throws UsageException if it is none
     */
    static int count(Arguments arguments, Option option, int byDefault, int max) throws UsageException {
        String text = arguments.text(option);
        if (text == null) {
            return byDefault;
        }
        if (!text.matches("[0-9]{1,9}") || Integer.parseInt(text) < 1 || Integer.parseInt(text) > max) {
            throw new UsageException(name(option) + ": a number from 1 to " + max + " is expected, got '" + text + "'");
        }
        return Integer.parseInt(text);
    }

    /**
     * A model, as NAME or NAME/VERSION.
     *
     * @param what before the message if it is none
     * @throws UsageException if it is none
     */
    static ModelRef model(String what, String text) throws UsageException {
        String[] parts = text.split("/", 2);
        try {
            return NameGrammar.checked(new ModelRef(parts[0], parts.length > 1 ? parts[1] : ""));
        } catch (OipException e) {
            throw new UsageException(what + e.message());
        }
    }

    /**
     * The URL of a server, without a path; http if only host and port are given.
     *
     * @throws UsageException if it is none, or absent
     */
    static URI server(Option option, @Nullable String text) throws UsageException {
        String given = text == null ? "" : text;
        boolean complete = given.contains("://");
        try {
            URI url = new URI(complete ? given.replaceFirst("/$", "") : "http://" + given);
            if (("http".equals(url.getScheme()) || "https".equals(url.getScheme()))
                    && url.getHost() != null
                    && (complete || url.getPort() > 0)
                    && url.getUserInfo() == null
                    && url.getQuery() == null
                    && url.getFragment() == null
                    && url.getPath().isEmpty()) {
                return url;
            }
        } catch (URISyntaxException e) {
            // Reported below.
        }
        throw new UsageException(name(option)
                + ": HOST:PORT, http://HOST:PORT or https://HOST:PORT is expected, got "
                + (text == null ? "none" : "'" + text + "'"));
    }

    /** The names of an option in messages: "-n, --count". */
    static String name(Option option) {
        return (option.getOpt() == null ? "" : "-" + option.getOpt() + ", ") + "--" + option.getLongOpt();
    }
}
