package dev.isthmus.gateway.settings;

/**
 * What is wrong with a configuration.
 *
 * @param file empty if it is in none
 * @param line from 1; 0 if it is in none
 * @param column from 1, in Unicode characters; 0 if it is in none
 */
public record ConfigProblem(String file, int line, int column, String message) {

    /** {@code FILE:LINE:COLUMN: MESSAGE}, without what is not known. */
    @Override
    public String toString() {
        return (file.isEmpty() ? "" : file + ":")
                + (line == 0 ? "" : line + ":" + column + ":")
                + (file.isEmpty() ? "" : " ")
                + message;
    }
}
