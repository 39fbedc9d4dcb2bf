/** Error codes of MongoDB that this server uses, with their MongoDB names. */
const CODES = {
  InternalError: 1,
  BadValue: 2,
  FailedToParse: 9,
  Unauthorized: 13,
  TypeMismatch: 14,
  IllegalOperation: 20,
  InvalidLength: 21,
  NamespaceNotFound: 26,
  IndexNotFound: 27,
  PathNotViable: 28,
  ConflictingUpdateOperators: 40,
  CursorNotFound: 43,
  NamespaceExists: 48,
  MaxTimeMSExpired: 50,
  DollarPrefixedFieldName: 52,
  InvalidIdField: 53,
  NotSingleValueField: 54,
  EmptyFieldName: 56,
  CommandNotFound: 59,
  ImmutableField: 66,
  CannotCreateIndex: 67,
  InvalidOptions: 72,
  InvalidNamespace: 73,
  IndexOptionsConflict: 85,
  IndexKeySpecsConflict: 86,
  ShutdownInProgress: 91,
  WriteConflict: 112,
  InvalidPipelineOperator: 168,
  CannotIndexParallelArrays: 171,
  QueryPlanKilled: 175,
  InvalidIndexSpecificationOption: 197,
  IncompleteTransactionHistory: 217,
  TransactionTooOld: 225,
  CursorKilled: 237,
  NotImplemented: 238,
  ConversionFailure: 241,
  SnapshotUnavailable: 246,
  NoSuchTransaction: 251,
  TransactionCommitted: 256,
  OperationNotSupportedInTransaction: 263,
  ClientDisconnect: 279,
  QueryExceededMemoryLimitNoDiskUseAllowed: 292,
  BSONObjectTooLarge: 10334,
  DuplicateKey: 11000,
  CursorInUse: 12051,
  OutOfDiskSpace: 14031,
  Location15947: 15947,
  Location15952: 15952,
  Location15955: 15955,
  Location15958: 15958,
  Location15959: 15959,
  Location15974: 15974,
  Location15975: 15975,
  Location15976: 15976,
  Location15983: 15983,
  Location15998: 15998,
  Location16006: 16006,
  Location16020: 16020,
  Location16410: 16410,
  Location16554: 16554,
  Location16555: 16555,
  Location16556: 16556,
  Location16608: 16608,
  Location16609: 16609,
  Location16612: 16612,
  Location16702: 16702,
  Location16872: 16872,
  Location17124: 17124,
  Location17276: 17276,
  KeyTooLong: 17280,
  Location17419: 17419,
  Location18535: 18535,
  Location18536: 18536,
  Location18628: 18628,
  Location28689: 28689,
  Location28690: 28690,
  Location28765: 28765,
  Location28808: 28808,
  Location28811: 28811,
  Location28818: 28818,
  Location28822: 28822,
  Location31002: 31002,
  Location31249: 31249,
  Location31250: 31250,
  Location31252: 31252,
  Location31253: 31253,
  Location31254: 31254,
  Location31325: 31325,
  Location40081: 40081,
  Location40156: 40156,
  Location40234: 40234,
  Location40235: 40235,
  Location40238: 40238,
  Location40323: 40323,
  Location40324: 40324,
  Location40352: 40352,
  Location40353: 40353,
  Location40414: 40414,
  Location40415: 40415,
  Location40485: 40485,
  Location40573: 40573,
  Location50768: 50768,
  Location50911: 50911,
  Location51024: 51024,
  Location51075: 51075,
  Location51091: 51091,
  Location51108: 51108,
  Location51270: 51270,
  Location51272: 51272,
  Location4568: 4568,
  Location5107200: 5107200,
  Location5107201: 5107201,
} as const

export type ErrorCodeName = keyof typeof CODES

/** The refusal of an operation as the client receives it. Expected refusals are not thrown. */
export type OperationRefusal = {
  readonly code: number
  readonly codeName: ErrorCodeName
  readonly message: string
  /** Additional fields of the error, such as `keyPattern` and `keyValue` of a duplicate key. */
  readonly details: Readonly<Record<string, unknown>>
}

export function refuse(
  codeName: ErrorCodeName,
  message: string,
  details: OperationRefusal['details'],
): OperationRefusal {
  return { code: CODES[codeName], codeName, message, details }
}

/** An error that the client receives as a server error: code, name, message. */
export class MongoCommandError extends Error implements OperationRefusal {
  override readonly name = 'CommandError'
  readonly code: number
  readonly codeName: ErrorCodeName
  readonly details: OperationRefusal['details']

  constructor(codeName: ErrorCodeName, message: string, details: OperationRefusal['details'] = {}) {
    super(message)
    this.codeName = codeName
    this.code = CODES[codeName]
    this.details = details
  }

  static of({ codeName, message, details }: OperationRefusal): MongoCommandError {
    return new MongoCommandError(codeName, message, details)
  }
}

/**
 * A MongoDB feature that this server does not support: it is refused, never answered incorrectly.
 */
export function notImplemented(what: string): MongoCommandError {
  return new MongoCommandError(
    'NotImplemented',
    `${what} is not supported by the embedded server: use a MongoDB server`,
  )
}

/**
 * An error after which the client may repeat its whole transaction; it carries the label that the
 * driver's `withTransaction` looks for.
 */
export function transientError(codeName: ErrorCodeName, message: string): MongoCommandError {
  return new MongoCommandError(codeName, message, { errorLabels: ['TransientTransactionError'] })
}
