package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads a file of API keys: a line for each, {@code NAME SHA256 [GROUP...]}; {@code #} begins a comment. Messages never
 * repeat what stands in a line, which may be a key by mistake.
 */
public final class ApiKeyFile {
    private static final long MAX_SIZE = 16L << 20;
    private static final Pattern NAME = Pattern.compile("[\\p{Graph}&&[^#]]{1,255}");
    private static final Pattern SHA256 = Pattern.compile("[0-9a-fA-F]{64}");

    private ApiKeyFile() {}

    /**
     * One valid key.
     *
     * @param name of the caller
     * @param sha256 of the key, in hexadecimal
     * @param groups of the caller, from all lines of the name
     */
    public record ApiKeyEntry(String name, String sha256, Set<String> groups) {
        public ApiKeyEntry {
            groups = Set.copyOf(groups);
        }
    }

    public static String line(String name, byte[] sha256) {
        return name + " " + HexFormat.of().formatHex(sha256);
    }

    /** Whether a caller may have this name. */
    public static boolean isName(String name) {
        return NAME.matcher(name).matches();
    }

    /**
     * Reads a file. Blocks.
     *
     * @throws ConfigException if it cannot be read, others can read or write it, or a line is invalid
     */
    public static List<ApiKeyEntry> read(Path file) throws ConfigException {
        String text;
        try {
            String exposure = SecretFile.exposure(file);
            if (exposure != null) {
                throw new ConfigException(List.of(file + " " + exposure));
            }
            if (Files.size(file) > MAX_SIZE) {
                throw new ConfigException(List.of(file + ": at most " + MAX_SIZE + " bytes are expected"));
            }
            text = Files.readString(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new ConfigException(List.of(file + " cannot be read"));
        }
        return parse(file.toString(), text);
    }

    private static List<ApiKeyEntry> parse(String file, String text) throws ConfigException {
        List<String> problems = new ArrayList<>();
        Map<String, Integer> lines = new HashMap<>();
        Map<String, Set<String>> groups = new HashMap<>();
        List<String[]> keys = new ArrayList<>();
        int number = 0;
        for (String line : text.split("\\R", -1)) {
            number++;
            int comment = line.indexOf('#');
            String content = (comment < 0 ? line : line.substring(0, comment)).strip();
            if (content.isEmpty()) {
                continue;
            }
            String[] words = content.split("\\s+", -1);
            String problem = problem(words);
            Integer before = problem == null ? lines.putIfAbsent(words[1].toLowerCase(Locale.ROOT), number) : null;
            if (before != null) {
                problem = "the key of line " + before + " is given again";
            }
            if (problem != null) {
                problems.add(file + ":" + number + ": " + problem);
                continue;
            }
            keys.add(words);
            groups.computeIfAbsent(words[0], name -> new LinkedHashSet<>())
                    .addAll(List.of(words).subList(2, words.length));
        }
        if (!problems.isEmpty()) {
            throw new ConfigException(problems);
        }
        return keys.stream()
                .map(words -> new ApiKeyEntry(words[0], words[1], groups.getOrDefault(words[0], Set.of())))
                .toList();
    }

    private static @Nullable String problem(String[] words) {
        if (words.length < 2 || !SHA256.matcher(words[1]).matches()) {
            return "NAME SHA256 [GROUP...] is expected, with the SHA-256 of the key in 64 hexadecimal digits";
        }
        return Arrays.stream(words).allMatch(ApiKeyFile::isName)
                ? null
                : "names of at most 255 printable ASCII characters are expected";
    }
}
