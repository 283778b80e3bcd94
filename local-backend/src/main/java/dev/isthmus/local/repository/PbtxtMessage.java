package dev.isthmus.local.repository;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Rephrases messages of protobuf's text parser, which has those of the JDK's number parsers in them. */
final class PbtxtMessage {
    /** The parser's "line:column: message". */
    private static final Pattern PLACE = Pattern.compile("^(\\d+):(\\d+): (.*)$", Pattern.DOTALL);

    private static final Pattern INTEGER =
            Pattern.compile("^Couldn't parse integer: For input string: \"(.*?)\"( under radix \\d+)?$");
    private static final Pattern RANGE =
            Pattern.compile("^Couldn't parse integer: Number out of range for (\\d+)-bit (un)?signed integer: (.*)$");
    private static final Pattern NUMBER = Pattern.compile("^Couldn't parse number: For input string: \"(.*?)\"$");
    private static final Pattern TWICE = Pattern.compile(
            "^Non-repeated field \"(?:inference\\.)?(?:ModelConfig\\.)?(.*)\" cannot be overwritten\\.$");

    private PbtxtMessage() {}

    static String of(String message) {
        Matcher place = PLACE.matcher(message);
        return place.matches()
                ? "line " + place.group(1) + ", column " + place.group(2) + ": " + reason(place.group(3))
                : message;
    }

    private static String reason(String text) {
        Matcher integer = INTEGER.matcher(text);
        if (integer.matches()) {
            return "a whole number is expected, got " + integer.group(1);
        }
        Matcher range = RANGE.matcher(text);
        if (range.matches()) {
            return "a whole number of " + range.group(1) + " bits is expected, got " + range.group(3);
        }
        Matcher number = NUMBER.matcher(text);
        if (number.matches()) {
            return "a number is expected, got " + number.group(1);
        }
        Matcher twice = TWICE.matcher(text);
        return twice.matches() ? twice.group(1) + " is expected once" : text;
    }
}
