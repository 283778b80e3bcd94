package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.settings.NearestName;
import dev.isthmus.gateway.settings.Units;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.MissingArgumentException;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.apache.commons.cli.UnrecognizedOptionException;
import org.jspecify.annotations.Nullable;

/** The parsed arguments of a command. */
final class Arguments {
    /** An option of every command. */
    static final Option HELP = Option.builder("h")
            .longOpt("help")
            .desc("Show this help message and exit.")
            .get();

    private final CommandLine line;

    private Arguments(CommandLine line) {
        this.line = line;
    }

    /** @throws UsageException for an unknown option or a wrong number of operands */
    static Arguments of(Command command, List<String> args) throws UsageException {
        Options options = new Options();
        options(command).forEach(options::addOption);
        CommandLine line;
        try {
            line = DefaultParser.builder()
                    .setAllowPartialMatching(false)
                    .setStripLeadingAndTrailingQuotes(false)
                    .get()
                    .parse(options, args.toArray(String[]::new));
        } catch (MissingArgumentException e) {
            Option option = e.getOption();
            throw new UsageException(
                    CommandOptions.name(option) + ": " + option.getArgName() + " is expected after it");
        } catch (UnrecognizedOptionException e) {
            throw new UsageException("unknown option '" + e.getOption() + "'" + suggestion(command, e.getOption()));
        } catch (ParseException e) {
            throw new UsageException(String.valueOf(e.getMessage()));
        }
        Arguments arguments = new Arguments(line);
        int operands = line.getArgList().size();
        long required = command.operands().stream()
                .filter(each -> !each.startsWith("["))
                .count();
        int most = command.operands().stream().anyMatch(each -> each.endsWith("..."))
                ? Integer.MAX_VALUE
                : command.operands().size();
        if (!arguments.help() && (operands < required || operands > most)) {
            String expected = command.operands().isEmpty() ? "no operand" : String.join(" ", command.operands());
            throw new UsageException(
                    expected + " is expected, got " + (operands == 0 ? "none" : String.join(" ", line.getArgList())));
        }
        return arguments;
    }

    private static String suggestion(Command command, String option) {
        return NearestName.suggestion(
                option,
                options(command).stream().map(each -> "--" + each.getLongOpt()).toList());
    }

    boolean help() {
        return has(HELP);
    }

    int operands() {
        return line.getArgList().size();
    }

    boolean has(Option option) {
        return line.hasOption(option);
    }

    String operand(int index) {
        return line.getArgList().get(index);
    }

    List<Path> files() throws UsageException {
        return paths(line.getArgList());
    }

    private static List<Path> paths(Collection<String> texts) throws UsageException {
        List<Path> files = new ArrayList<>();
        for (String text : texts) {
            files.add(path(text));
        }
        return files;
    }

    Path file(int index) throws UsageException {
        return path(operand(index));
    }

    /** The option's value; null if it is absent. */
    @Nullable
    String text(Option option) throws UsageException {
        String text = line.getOptionValue(option);
        if (text != null && text.isBlank()) {
            throw new UsageException(CommandOptions.name(option) + ": " + option.getArgName() + " is expected, got ''");
        }
        return text;
    }

    Set<String> texts(Option option) {
        String[] values = line.getOptionValues(option);
        return values == null ? Set.of() : new LinkedHashSet<>(List.of(values));
    }

    /** The option's value, as a file; null if it is absent. */
    @Nullable
    Path file(Option option) throws UsageException {
        String text = text(option);
        return text == null ? null : path(text);
    }

    /** The option's values, as files; empty if it is absent. */
    List<Path> files(Option option) throws UsageException {
        return paths(texts(option));
    }

    private static Path path(String text) throws UsageException {
        try {
            return Path.of(text);
        } catch (IllegalArgumentException e) {
            throw new UsageException("a file is expected, got '" + text + "'");
        }
    }

    /** The option's value, one of the words that its help names; the first if it is absent. */
    String word(Option option) throws UsageException {
        List<String> words = List.of(option.getArgName().split("\\|"));
        String text = text(option);
        if (text != null && !words.contains(text)) {
            throw new UsageException(CommandOptions.name(option) + ": one of " + String.join(", ", words)
                    + " is expected, got '" + text + "'");
        }
        return text == null ? words.getFirst() : text;
    }

    /** The option's value, a number from {@code min} to {@code max}; null if it is absent. */
    @Nullable
    Integer number(Option option, int min, int max) throws UsageException {
        String text = text(option);
        if (text == null) {
            return null;
        }
        if (!text.matches("[0-9]{1,9}") || Integer.parseInt(text) < min || Integer.parseInt(text) > max) {
            throw new UsageException(CommandOptions.name(option) + ": a number from " + min + " to " + max
                    + " is expected, got '" + text + "'");
        }
        return Integer.valueOf(text);
    }

    Duration duration(Option option, String byDefault) throws UsageException {
        String text = Objects.requireNonNullElse(text(option), byDefault);
        Duration duration = Units.duration(text);
        if (duration == null) {
            throw new UsageException(CommandOptions.name(option) + ": a duration such as " + byDefault
                    + " is expected, got '" + text + "'");
        }
        return duration;
    }

    /** The option's values of the form NAME=VALUE; the last of equal names is used. */
    Map<String, String> pairs(Option option) throws UsageException {
        Map<String, String> pairs = new LinkedHashMap<>();
        String[] values = line.getOptionValues(option);
        for (String pair : values == null ? new String[0] : values) {
            int equals = pair.indexOf('=');
            if (equals < 1) {
                throw new UsageException(CommandOptions.name(option) + ": NAME=VALUE is expected, got '" + pair + "'");
            }
            pairs.put(pair.substring(0, equals), pair.substring(equals + 1));
        }
        return pairs;
    }

    /** All options of a command. */
    static List<Option> options(Command command) {
        List<Option> all = new ArrayList<>(command.options());
        all.add(HELP);
        return all;
    }
}
