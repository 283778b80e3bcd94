package dev.isthmus.gateway.settings;

import java.util.List;
import java.util.stream.Collectors;

/** All problems of a configuration. */
public final class ConfigException extends Exception {
    private static final long serialVersionUID = 1L;

    private final transient List<ConfigProblem> located;

    /** Problems that are in no file of the configuration. */
    public ConfigException(List<String> problems) {
        this(problems.stream().map(each -> new ConfigProblem("", 0, 0, each)).toList(), true);
    }

    ConfigException(ConfigProblem problem) {
        this(List.of(problem), true);
    }

    private ConfigException(List<ConfigProblem> problems, boolean located) {
        super(problems.stream().map(ConfigProblem::toString).collect(Collectors.joining("\n")));
        this.located = List.copyOf(problems);
    }

    /** Problems with their places. */
    static ConfigException of(List<ConfigProblem> problems) {
        return new ConfigException(problems, true);
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
