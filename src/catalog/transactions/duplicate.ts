import { MongoServerError } from 'mongodb'

/** Whether a document with the same value of a unique index exists. */
export function isDuplicate(error: unknown): error is MongoServerError {
  return error instanceof MongoServerError && error.code === 11_000
}
