import { Long } from 'bson'
import { MongoCommandError, notImplemented } from '../errors.ts'
import { checkNamespace } from '../store/catalog.ts'
import { typeName } from '../values/compare.ts'
import { type Doc, decode, fieldOf, isArray, isDoc, type Value } from '../values/document.ts'
import { isNumeric, toNumber } from '../values/numeric.ts'
import type { Request } from '../wire/request.ts'

/** Fields that every command accepts. */
const GENERIC_FIELDS = [
  '$db',
  '$readPreference',
  '$clusterTime',
  'lsid',
  'comment',
  'maxTimeMS',
  'readConcern',
  'writeConcern',
  'txnNumber',
  'startTransaction',
  'autocommit',
  'stmtId',
  'stmtIds',
]

/** A document of a command, decoded on first access. */
export class DocArgument {
  /** As received; undefined for a document inside the command, which is decoded already. */
  readonly bytes: Buffer | undefined
  #doc: Doc | undefined

  constructor(bytes: Buffer | undefined, doc?: Doc) {
    this.bytes = bytes
    this.#doc = doc
  }

  /** @throws CommandError if the bytes are not BSON */
  get doc(): Doc {
    this.#doc ??= this.bytes ? decode(this.bytes) : {}
    return this.#doc
  }
}

/** A command with its arguments, each checked when it is read. */
export class Args {
  readonly name: string
  readonly database: string
  readonly #body: Doc
  readonly #sequences: Request['sequences']

  constructor(request: Pick<Request, 'sequences' | 'database'>, body: Doc) {
    this.name = Object.keys(body)[0] ?? ''
    this.#body = body
    this.#sequences = request.sequences
    const database = request.database ?? fieldOf(body, '$db')
    if (typeof database !== 'string' || database === '') {
      throw new MongoCommandError('Location40414', "OP_MSG requests require a '$db' argument")
    }
    this.database = database
  }

  /** A command that is an argument of another one. */
  static within({ database }: Args, command: Doc): Args {
    return new Args({ database, sequences: new Map() }, command)
  }

  /**
   * Refuses unknown fields and fields that only a MongoDB server supports.
   * @throws CommandError
   */
  allow(fields: readonly string[], unsupported: readonly string[] = []): void {
    const present = [...Object.keys(this.#body), ...this.#sequences.keys()].slice(1)
    for (const field of present) {
      if (fields.includes(field) || GENERIC_FIELDS.includes(field)) continue
      if (unsupported.includes(field)) throw notImplemented(`${this.name} with ${field}`)
      throw new MongoCommandError(
        'Location40415',
        `BSON field '${this.name}.${field}' is an unknown field.`,
      )
    }
    this.#checkConcerns()
  }

  /** The namespace of the command: its first field is the name of a collection. */
  namespace(field = this.name): string {
    const collection = fieldOf(this.#body, field)
    if (typeof collection !== 'string' || collection === '') {
      throw new MongoCommandError(
        'InvalidNamespace',
        `collection name has invalid type ${typeName(collection)}`,
      )
    }
    const ns = `${this.database}.${collection}`
    checkNamespace(ns)
    return ns
  }

  value(field: string): Value {
    return fieldOf(this.#body, field)
  }

  doc(field: string): Doc {
    const value = this.value(field)
    if (value === undefined) return {}
    return isDoc(value) ? value : this.#wrongType(field, 'object')
  }

  string(field: string): string | undefined {
    const value = this.value(field)
    return value === undefined || typeof value === 'string'
      ? value
      : this.#wrongType(field, 'string')
  }

  boolean(field: string, absent = false): boolean {
    const value = this.value(field)
    if (value === undefined) return absent
    if (isNumeric(value)) return toNumber(value) !== 0
    return typeof value === 'boolean' ? value : this.#wrongType(field, 'bool')
  }

  /** An integer ≥ 0; undefined if the field is missing. */
  count(field: string): number | undefined {
    return parseCount(`${this.name}.${field}`, this.value(field))
  }

  /**
   * A number without its sign: for `count` a negative limit has the same meaning as a positive one.
   */
  magnitude(field: string): number | undefined {
    const value = this.value(field)
    const isNegative = isNumeric(value) && toNumber(value) < 0
    return isNegative ? Math.abs(Math.trunc(toNumber(value))) : this.count(field)
  }

  /** A cursor id, which must be a long. */
  cursorId(value: Value): Long {
    return value instanceof Long ? value : this.#wrongType(this.name, 'long')
  }

  array(field: string): Value[] {
    const value = this.value(field)
    return isArray(value) ? value : this.#wrongType(field, 'array')
  }

  /** Documents of a field, from a document sequence of the message or from the command itself. */
  docs(field: string): DocArgument[] {
    const sequence = this.#sequences.get(field)
    if (sequence) return sequence.map((bytes) => new DocArgument(bytes))
    if (this.value(field) === undefined) throw missingField(`${this.name}.${field}`)
    return this.array(field).map((value) => {
      if (isDoc(value)) return new DocArgument(undefined, value)
      return this.#wrongType(field, 'array of objects')
    })
  }

  #wrongType(field: string, expected: string): never {
    throw wrongType(`${this.name}.${field}`, this.value(field), expected)
  }

  /**
   * Every acknowledged write is on disk and visible to every read, so most levels are satisfied.
   */
  #checkConcerns(): void {
    const w = this.doc('writeConcern')['w']
    const isOneServer =
      w === undefined || w === 'majority' || (isNumeric(w) && [0, 1].includes(toNumber(w)))
    if (!isOneServer) {
      throw new MongoCommandError('BadValue', "cannot use 'w' > 1 when a host is not replicated")
    }
    const level = this.doc('readConcern')['level']
    if (level === undefined || ['local', 'available', 'majority'].includes(String(level))) return
    // A transaction reads a snapshot in any case.
    if (level === 'snapshot' && this.boolean('startTransaction')) return
    throw notImplemented(`read concern ${String(level)}`)
  }
}

/**
 * Reads an integer ≥ 0; undefined if the field is missing.
 * @throws CommandError for any other value
 */
export function parseCount(field: string, value: Value): number | undefined {
  if (value === undefined) return undefined
  if (!isNumeric(value)) throw wrongType(field, value, 'number')
  const number = toNumber(value)
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw new MongoCommandError(
    'Location51024',
    `BSON field '${field}' value must be >= 0, actual value '${number}'`,
  )
}

export function missingField(field: string): MongoCommandError {
  return new MongoCommandError(
    'Location40414',
    `BSON field '${field}' is missing but a required field`,
  )
}

function wrongType(field: string, value: Value, expected: string): MongoCommandError {
  return new MongoCommandError(
    'TypeMismatch',
    `BSON field '${field}' is the wrong type '${typeName(value)}', expected type '${expected}'`,
  )
}
