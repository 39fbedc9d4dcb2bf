/** MongoDB cannot be used now. Whether a write arrived is unknown; reading again later is safe. */
export class CatalogUnavailableError extends Error {
  override name = 'CatalogUnavailableError'
}

/** A read took longer in MongoDB than it may, and was stopped there: asking for less would help. */
export class SlowReadError extends Error {
  override name = 'SlowReadError'
  readonly limitMs: number

  constructor(what: string, limitMs: number) {
    super(`MongoDB: ${what}: stopped after ${limitMs} ms`)
    this.limitMs = limitMs
  }
}

/** Nobody waits for a read any more, and it was stopped. */
export class ReadCancelledError extends Error {
  override name = 'ReadCancelledError'
}

/**
 * The URL of MongoDB cannot be used. Carries no cause: the driver's own error quotes the password.
 */
export class CatalogUrlError extends Error {
  override name = 'CatalogUrlError'
}

/** A unique field (or group of fields) of the entity is taken. */
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

/** The revision to replace is not there, belongs to another entity, or was changed meanwhile. */
export class EntityConflictError extends Error {
  override name = 'EntityConflictError'
}

/** The stored configuration is being changed by so many others that a change found no place. */
export class ConfigConflictError extends Error {
  override name = 'ConfigConflictError'
}

/** More subscribers share the pools of an account than are read for one request. */
export class PoolTooLargeError extends Error {
  override name = 'PoolTooLargeError'

  constructor(aid: number, members: number) {
    super(`account ${aid}: more than ${members} subscribers share its pools`)
  }
}
