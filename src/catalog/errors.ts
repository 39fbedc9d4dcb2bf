/** MongoDB is unavailable. A write may or may not have been applied; reads are safe to retry. */
export class CatalogUnavailableError extends Error {
  override name = 'CatalogUnavailableError'
}

/** MongoDB stopped a read at its time limit; a smaller request may succeed. */
export class SlowReadError extends Error {
  override name = 'SlowReadError'
  readonly limitMs: number

  constructor(what: string, limitMs: number) {
    super(`MongoDB: ${what}: stopped after ${limitMs} ms`)
    this.limitMs = limitMs
  }
}

/** The caller cancelled the read. */
export class ReadCancelledError extends Error {
  override name = 'ReadCancelledError'
}

/** The URL of MongoDB is invalid. Has no cause: the driver's error quotes the password. */
export class CatalogUrlError extends Error {
  override name = 'CatalogUrlError'
}

/** Another entity has the same value of a unique field, or group of fields. */
export class DuplicateEntityError extends Error {
  override name = 'DuplicateEntityError'
  readonly collection: string
  readonly fields: readonly string[]

  constructor(collection: string, fields: readonly string[]) {
    super(`${collection}: there is already one with the same ${fields.join(', ') || 'key'}`)
    this.collection = collection
    this.fields = fields
  }
}

/** Other processes keep changing the entity, or the revision to replace is gone. */
export class EntityConflictError extends Error {
  override name = 'EntityConflictError'
}

/** More subscribers share the pools of an account than one request may read. */
export class PoolTooLargeError extends Error {
  override name = 'PoolTooLargeError'

  constructor(aid: number, members: number) {
    super(`account ${aid}: more than ${members} subscribers share its pools`)
  }
}
