/** Histories of locks and of the data that they protect. */

export {};
