package dev.isthmus.gateway.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A page of the documentation.
 *
 * @param name relative to the root of the repository
 */
record MarkdownPage(String name, List<String> lines, List<Block> blocks) {
    static final Path ROOT =
            Path.of(System.getProperty("isthmus.root", "..")).toAbsolutePath().normalize();
    private static final Pattern COMMENT = Pattern.compile("<!-- (file|not run): (.*) -->");

    /**
     * A fenced block.
     *
     * @param file the file name in the page's commands, from a comment {@code file: NAME} in the line above
     * @param notRun from a comment {@code not run: REASON} in the line above
     */
    record Block(
            int line,
            String language,
            String text,
            @Nullable String file,
            @Nullable String notRun) {

        /** The commands of a console block, each with the output that the page shows. */
        List<ShownCommand> commands() {
            List<ShownCommand> commands = new ArrayList<>();
            boolean continued = false;
            for (String each : text.lines().toList()) {
                if (continued) {
                    ShownCommand last = commands.removeLast();
                    commands.add(new ShownCommand(last.text() + "\n" + each, last.output()));
                } else if (each.startsWith("$ ")) {
                    commands.add(new ShownCommand(each.substring(2), new ArrayList<>()));
                } else if (commands.isEmpty()) {
                    throw new IllegalArgumentException("line " + line + ": a console block begins with '$ '");
                } else {
                    commands.getLast().output().add(each);
                }
                continued = each.endsWith("\\") && (continued || each.startsWith("$ "));
            }
            return commands;
        }
    }

    /** A command and the lines of output that the page shows below it. */
    record ShownCommand(String text, List<String> output) {}

    /** The pages for users: those of the repository's root and everything in docs. */
    static List<MarkdownPage> all() throws IOException {
        List<Path> files = new ArrayList<>(Stream.of("README.md", "CONTRIBUTING.md", "SECURITY.md")
                .map(ROOT::resolve)
                .toList());
        try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
            docs.filter(each -> each.toString().endsWith(".md")).sorted().forEach(files::add);
        }
        return pages(files);
    }

    /** The pages for users, and others that link to them. */
    static List<MarkdownPage> inRepository() throws IOException {
        List<MarkdownPage> pages = new ArrayList<>(all());
        pages.addAll(pages(Stream.of("CHANGELOG.md", "bench/NOTES.md", "conformance/README.md")
                .map(ROOT::resolve)
                .toList()));
        return pages;
    }

    private static List<MarkdownPage> pages(List<Path> files) throws IOException {
        List<MarkdownPage> pages = new ArrayList<>();
        for (Path file : files) {
            List<String> lines = Files.readAllLines(file);
            pages.add(new MarkdownPage(ROOT.relativize(file).toString(), lines, blocks(lines)));
        }
        return pages;
    }

    /** What the changelog says of the next release: earlier ones name what there was then. */
    static MarkdownPage nextRelease() throws IOException {
        List<String> lines = Files.readAllLines(ROOT.resolve("CHANGELOG.md"));
        int begin = lines.indexOf("## Unreleased");
        List<String> next = lines.subList(begin + 1, lines.size());
        next = next.stream().takeWhile(line -> !line.startsWith("## ")).toList();
        return new MarkdownPage("CHANGELOG.md, Unreleased", next, List.of());
    }

    private static List<Block> blocks(List<String> lines) {
        List<Block> blocks = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            if (!lines.get(i).startsWith("```")) {
                continue;
            }
            int start = i;
            StringBuilder text = new StringBuilder();
            for (i++; !lines.get(i).equals("```"); i++) {
                text.append(lines.get(i)).append('\n');
            }
            Matcher comment = COMMENT.matcher(start == 0 ? "" : lines.get(start - 1));
            boolean marked = comment.matches();
            blocks.add(new Block(
                    start + 1,
                    lines.get(start).substring(3),
                    text.toString(),
                    marked && comment.group(1).equals("file") ? comment.group(2) : null,
                    marked && comment.group(1).equals("not run") ? comment.group(2) : null));
        }
        return blocks;
    }
}
