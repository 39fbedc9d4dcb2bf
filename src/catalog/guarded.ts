/**
 * Collections that guard themselves: each operation has the time limit and the errors of
 * `Catalog.run` or `Catalog.read`, and is named after what it does to which collection.
 */
import type {
  AggregateOptions,
  AggregationCursor,
  CountDocumentsOptions,
  Document,
  Filter,
  FindCursor,
  FindOptions,
  Sort,
  Collection as UnguardedCollection,
  WithId,
} from 'mongodb'

/** Limits to pass to every operation of a read. */
export interface ReadLimits {
  /** Time limit on the server. */
  maxTimeMS: number
  /** Aborted when the caller cancels the read; the driver then stops it on the server, too. */
  signal: AbortSignal
}

export interface StoreReadOptions {
  /** Cancels the read, also on the server. */
  signal?: AbortSignal | undefined
  /** Remaining time of a read that consists of several parts; at most `readTimeoutMs`. */
  remainingMs?: number
}

export interface Guards {
  /**
   * Runs operations on unguarded collections. An outage or more than `timeoutMs` for all of them
   * becomes a `CatalogUnavailableError` whose message contains `what`; other errors are passed
   * through.
   */
  run<T>(what: string, operation: () => Promise<T>): Promise<T>
  /**
   * As `run`, for reads that may scan many documents, with the limit `readTimeoutMs`. `operation`
   * passes the limits to each of its operations, so that the server stops as well when the time is
   * over (`SlowReadError`) or the caller cancels (`ReadCancelledError`).
   */
  read<T>(
    what: string,
    operation: (limits: ReadLimits) => Promise<T>,
    options?: StoreReadOptions,
  ): Promise<T>
}

/** The operations other than those with a cursor, and their names in errors. */
const NAMES = {
  findOne: 'read',
  distinct: 'read',
  countDocuments: 'count',
  estimatedDocumentCount: 'count',
  insertOne: 'write',
  insertMany: 'write',
  updateOne: 'write',
  updateMany: 'write',
  replaceOne: 'write',
  findOneAndUpdate: 'write',
  bulkWrite: 'write',
  deleteOne: 'delete from',
  deleteMany: 'delete from',
  createIndex: 'create indexes of',
  createIndexes: 'create indexes of',
} as const

type Operation = keyof typeof NAMES

/** Each operation is a `run`. */
export interface Collection<D extends Document = Document>
  extends Pick<UnguardedCollection<D>, Operation>,
    Cursors<D, object> {}

/** Each operation is a `read`, which `signal` cancels. */
export interface CollectionReads<D extends Document = Document> extends Cursors<D, Cancellable> {
  countDocuments(filter: Filter<D>, options?: CountDocumentsOptions & Cancellable): Promise<number>
}

interface Cursors<D extends Document, Options> {
  find(filter?: Filter<D>, options?: FindOptions & Options): GuardedCursor<WithId<D>>
  aggregate<T extends Document = Document>(
    pipeline: Document[],
    options?: AggregateOptions & Options,
  ): GuardedCursor<T>
}

interface Cancellable {
  signal?: AbortSignal | undefined
}

/** Each `toArray` opens a cursor of the driver. */
export interface GuardedCursor<T> {
  sort(order: Sort): GuardedCursor<T>
  skip(count: number): GuardedCursor<T>
  limit(count: number): GuardedCursor<T>
  project<P extends Document>(projection: Document): GuardedCursor<P>
  toArray(): Promise<T[]>
}

type Limits = Partial<ReadLimits>
type Guard = <T>(operation: (limits: Limits) => Promise<T>, options: Cancellable) => Promise<T>

export function guardedCollection<D extends Document>(
  name: string,
  unguarded: UnguardedCollection<D>,
  run: Guards['run'],
): Collection<D> {
  const operations = Object.entries(NAMES).map(([operation, verb]) => {
    const act = unguarded[operation as Operation] as (...args: unknown[]) => Promise<unknown>
    const what = `${verb} ${name}`
    return [operation, (...args: unknown[]) => run(what, () => act.apply(unguarded, args))]
  })
  const single = Object.fromEntries(operations) as Pick<UnguardedCollection<D>, Operation>
  return {
    ...single,
    ...cursors(unguarded, (operation) => run(`read ${name}`, () => operation({}))),
  }
}

export function guardedReads<D extends Document>(
  name: string,
  unguarded: UnguardedCollection<D>,
  read: Guards['read'],
): CollectionReads<D> {
  return {
    ...cursors(unguarded, (operation, { signal }) => read(`read ${name}`, operation, { signal })),
    countDocuments: (filter, { signal, ...options } = {}) => {
      const count = (limits: Limits) => unguarded.countDocuments(filter, { ...options, ...limits })
      return read(`count ${name}`, count, { signal })
    },
  }
}

function cursors<D extends Document>(
  unguarded: UnguardedCollection<D>,
  guard: Guard,
): Cursors<D, Cancellable> {
  return {
    find: (filter = {}, { signal, ...options } = {}) =>
      cursorOf<WithId<D>>(
        (limits) => unguarded.find(filter, { ...options, ...limits }),
        (operation) => guard(operation, { signal }),
      ),
    aggregate: <T extends Document>(
      pipeline: Document[],
      { signal, ...options }: AggregateOptions & Cancellable = {},
    ) =>
      cursorOf<T>(
        (limits) => unguarded.aggregate<T>(pipeline, { ...options, ...limits }),
        (operation) => guard(operation, { signal }),
      ),
  }
}

function cursorOf<T>(
  open: (limits: Limits) => FindCursor<T> | AggregationCursor<T>,
  guard: (operation: (limits: Limits) => Promise<T[]>) => Promise<T[]>,
): GuardedCursor<T> {
  const then = (step: (cursor: FindCursor<T>) => FindCursor<T>) =>
    cursorOf((limits) => step(open(limits) as FindCursor<T>), guard)
  return {
    sort: (order) => then((cursor) => cursor.sort(order)),
    skip: (count) => then((cursor) => cursor.skip(count)),
    limit: (count) => then((cursor) => cursor.limit(count)),
    project: <P extends Document>(projection: Document) =>
      then((cursor) => cursor.project(projection) as FindCursor<T>) as unknown as GuardedCursor<P>,
    toArray: () => guard((limits) => open(limits).toArray()),
  }
}
