import { MongoServerError } from 'mongodb'

/** False if a document with the same value of a unique index exists. */
export async function isInserted(insert: Promise<unknown>): Promise<boolean> {
  try {
    await insert
    return true
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
}

/** Whether a document with the same value of a unique index exists. */
export function isDuplicate(error: unknown): error is MongoServerError {
  return error instanceof MongoServerError && error.code === 11_000
}
