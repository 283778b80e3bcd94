package dev.isthmus.gateway.settings;

import java.util.List;
import java.util.stream.Collectors;

/** All problems of a configuration. */
public final class ConfigException extends Exception {
    private static final long serialVersionUID = 1L;

    private final transient List<ConfigProblem> located;

    /** Problems that are in no file of the configuration. */
    public ConfigException(List<String> problems) {
        this(
                String.join("\n", problems),
                problems.stream().map(each -> new ConfigProblem("", 0, 0, each)).toList());
    }

    ConfigException(ConfigProblem problem) {
        this(problem.toString(), List.of(problem));
    }

    private ConfigException(String message, List<ConfigProblem> located) {
        super(message);
        this.located = List.copyOf(located);
    }

    /** Problems with their places. */
    static ConfigException of(List<ConfigProblem> problems) {
        String lines = problems.stream().map(ConfigProblem::toString).collect(Collectors.joining("\n"));
        return new ConfigException(lines, problems);
    }

    /** A line for each. */
    public List<String> problems() {
        return located.stream().map(ConfigProblem::toString).toList();
    }

    /** Each with its place. */
    public List<ConfigProblem> located() {
        return located;
    }
}
