/** Files of one message, and the largest: what a model takes of one. */
export const MAX_FILES = 4;
export const MAX_FILE_BYTES = 4_500_000;
