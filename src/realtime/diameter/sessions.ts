/** Registry of sessions received over Diameter, and of the connections that reach their clients. */

/** A session, and the connection that reaches its client. */
export interface SessionRoute<Connection> {
  readonly sessionId: string
  /** `ChargeRequest.origin`. */
  readonly origin: string
  /** Origin-Host of the client: destination of requests of the node. */
  readonly originHost: string
  readonly originRealm: string
  readonly aid: number
  readonly sid: number
  readonly connection: Connection
}

/** A registered session; the same object from its first answer to its end. */
export interface PeerSession {
  readonly sessionId: string
  readonly origin: string
  readonly aid: number
  readonly sid: number
  /** `SessionRegistry.sequence` when its last request arrived. */
  readonly sequence: number
}

/** Shared by the sessions of a connection, so that closing it affects all of them. */
interface Link<Connection> {
  connection: Connection | null
}

/** Shared by the sessions of a client. */
interface Client<Connection> {
  readonly key: string
  readonly host: string
  readonly realm: string
  sessions: number
  /** Link of the most recent request. */
  latest: Link<Connection>
}

class Entry<Connection> implements PeerSession {
  readonly sessionId: string
  readonly origin: string
  readonly aid: number
  readonly sid: number
  sequence: number
  client: Client<Connection>
  link: Link<Connection>
  older: Entry<Connection> | null = null
  newer: Entry<Connection> | null = null
  earlierOfSubscriber: Entry<Connection> | null = null
  laterOfSubscriber: Entry<Connection> | null = null
  earlierOfAccount: Entry<Connection> | null = null
  laterOfAccount: Entry<Connection> | null = null

  constructor(
    { sessionId, origin, aid, sid }: SessionRoute<Connection>,
    sequence: number,
    client: Client<Connection>,
    link: Link<Connection>,
  ) {
    this.sessionId = sessionId
    this.origin = origin
    this.aid = aid
    this.sid = sid
    this.sequence = sequence
    this.client = client
    this.link = link
  }
}

/**
 * Bounded: above the limit the least recently used session is dropped, which then only misses
 * notifications of changes. An entry takes a few hundred bytes. Sessions survive the end of their
 * connection: they are reached over the connection of their client's latest request, or not at all
 * until the client sends another one.
 */
export class SessionRegistry<Connection extends object> {
  readonly #sessionsMax: number
  readonly #origins = new Map<string, Map<string, Entry<Connection>>>()
  readonly #subscribers = new Map<number, Entry<Connection>>()
  readonly #accounts = new Map<number, Entry<Connection>>()
  readonly #clients = new Map<string, Client<Connection>>()
  readonly #links = new Map<Connection, Link<Connection>>()
  readonly #gone = new WeakSet<Connection>()
  #oldest: Entry<Connection> | null = null
  #newest: Entry<Connection> | null = null
  #walking: Entry<Connection> | null = null
  #size = 0
  #sequence = 0

  constructor(sessionsMax: number) {
    this.#sessionsMax = sessionsMax
  }

  get size(): number {
    return this.#size
  }

  /** Counts the changes that sessions may have to learn of. */
  get sequence(): number {
    return this.#sequence
  }

  /** Counts a change: requests that arrive from now on are answered with it in effect. */
  nextSequence(): number {
    this.#sequence += 1
    return this.#sequence
  }

  /**
   * Called after each answer that leaves its session open. `sequence`: its value when the request
   * arrived. `route` is copied and may be reused.
   */
  learn(route: SessionRoute<Connection>, sequence = this.#sequence): void {
    const existing = this.#origins.get(route.origin)?.get(route.sessionId)
    if (existing === undefined || existing.aid !== route.aid || existing.sid !== route.sid) {
      if (existing !== undefined) this.#remove(existing)
      this.#begin(route, sequence)
      return
    }
    if (sequence > existing.sequence) existing.sequence = sequence
    if (existing.link.connection !== route.connection)
      existing.link = this.#linkOf(route.connection)
    const { client } = existing
    if (client.host !== route.originHost || client.realm !== route.originRealm) {
      existing.client = this.#clientOf(route, existing.link)
      this.#releaseClient(client)
    }
    existing.client.latest = existing.link
    if (existing === this.#newest) return
    this.#unlink(existing)
    this.#append(existing)
  }

  /** Removes a session that has ended. */
  forget(origin: string, sessionId: string): void {
    const existing = this.#origins.get(origin)?.get(sessionId)
    if (existing !== undefined) this.#remove(existing)
  }

  /** Removes the sessions of a client that has lost them. */
  forgetClient(host: string, realm: string): void {
    const client = this.#clients.get(clientKey(host, realm))
    if (client === undefined) return
    let entry = this.#oldest
    while (entry !== null) {
      const { newer } = entry
      if (entry.client === client) this.#remove(entry)
      entry = newer
    }
  }

  find(origin: string, sessionId: string): PeerSession | undefined {
    return this.#origins.get(origin)?.get(sessionId)
  }

  /** How a registered session is reached now; undefined if there is no connection. */
  routeTo({ origin, sessionId }: PeerSession): SessionRoute<Connection> | undefined {
    const existing = this.#origins.get(origin)?.get(sessionId)
    const connection = existing?.link.connection ?? existing?.client.latest.connection ?? null
    if (existing === undefined || connection === null) return undefined
    const { aid, sid, client } = existing
    const { host: originHost, realm: originRealm } = client
    return { sessionId, origin, originHost, originRealm, aid, sid, connection }
  }

  /**
   * Sid 0 selects all subscribers of the account. The registry must not change during the
   * iteration.
   */
  *ofSubscriber(aid: number, sid: number): Iterable<PeerSession> {
    if (sid === 0) {
      let entry = this.#accounts.get(aid) ?? null
      for (; entry !== null; entry = entry.laterOfAccount) yield entry
      return
    }
    let entry = this.#subscribers.get(sid) ?? null
    for (; entry !== null; entry = entry.laterOfSubscriber) if (entry.aid === aid) yield entry
  }

  /** Begins a walk through all sessions, least recently used first; ends any previous walk. */
  beginWalk(): void {
    this.#walking = this.#oldest
  }

  /**
   * The next session of the walk, which tolerates changes of the registry; undefined at the end.
   */
  nextInWalk(): PeerSession | undefined {
    const entry = this.#walking
    if (entry === null) return undefined
    this.#walking = entry.newer
    return entry
  }

  /** Its sessions remain, but are no longer reached over this connection. */
  dropConnection(connection: Connection): void {
    this.#gone.add(connection)
    const link = this.#links.get(connection)
    if (link === undefined) return
    link.connection = null
    this.#links.delete(connection)
  }

  #begin(route: SessionRoute<Connection>, sequence: number): void {
    if (this.#size >= this.#sessionsMax && this.#oldest !== null) this.#remove(this.#oldest)
    const link = this.#linkOf(route.connection)
    const client = this.#clientOf(route, link)
    client.latest = link
    const entry = new Entry(route, sequence, client, link)
    let sessions = this.#origins.get(route.origin)
    if (sessions === undefined) {
      sessions = new Map()
      this.#origins.set(route.origin, sessions)
    }
    sessions.set(entry.sessionId, entry)
    this.#joinSubscriber(entry)
    this.#joinAccount(entry)
    this.#append(entry)
    this.#size += 1
  }

  #remove(entry: Entry<Connection>): void {
    const sessions = this.#origins.get(entry.origin)
    sessions?.delete(entry.sessionId)
    if (sessions?.size === 0) this.#origins.delete(entry.origin)
    this.#leaveSubscriber(entry)
    this.#leaveAccount(entry)
    this.#releaseClient(entry.client)
    this.#unlink(entry)
    this.#size -= 1
  }

  #joinSubscriber(entry: Entry<Connection>): void {
    const later = this.#subscribers.get(entry.sid) ?? null
    entry.laterOfSubscriber = later
    if (later !== null) later.earlierOfSubscriber = entry
    this.#subscribers.set(entry.sid, entry)
  }

  #leaveSubscriber(entry: Entry<Connection>): void {
    const { earlierOfSubscriber: earlier, laterOfSubscriber: later } = entry
    if (later !== null) later.earlierOfSubscriber = earlier
    if (earlier !== null) earlier.laterOfSubscriber = later
    else if (later !== null) this.#subscribers.set(entry.sid, later)
    else this.#subscribers.delete(entry.sid)
  }

  #joinAccount(entry: Entry<Connection>): void {
    const later = this.#accounts.get(entry.aid) ?? null
    entry.laterOfAccount = later
    if (later !== null) later.earlierOfAccount = entry
    this.#accounts.set(entry.aid, entry)
  }

  #leaveAccount(entry: Entry<Connection>): void {
    const { earlierOfAccount: earlier, laterOfAccount: later } = entry
    if (later !== null) later.earlierOfAccount = earlier
    if (earlier !== null) earlier.laterOfAccount = later
    else if (later !== null) this.#accounts.set(entry.aid, later)
    else this.#accounts.delete(entry.aid)
  }

  #append(entry: Entry<Connection>): void {
    entry.older = this.#newest
    entry.newer = null
    if (this.#newest === null) this.#oldest = entry
    else this.#newest.newer = entry
    this.#newest = entry
  }

  #unlink(entry: Entry<Connection>): void {
    const { older, newer } = entry
    if (this.#walking === entry) this.#walking = newer
    if (older === null) this.#oldest = newer
    else older.newer = newer
    if (newer === null) this.#newest = older
    else newer.older = older
  }

  #linkOf(connection: Connection): Link<Connection> {
    const existing = this.#links.get(connection)
    if (existing !== undefined) return existing
    if (this.#gone.has(connection)) return { connection: null }
    const link: Link<Connection> = { connection }
    this.#links.set(connection, link)
    return link
  }

  #clientOf(route: SessionRoute<Connection>, link: Link<Connection>): Client<Connection> {
    const { originHost: host, originRealm: realm } = route
    const key = clientKey(host, realm)
    let client = this.#clients.get(key)
    if (client === undefined) {
      client = { key, host, realm, sessions: 0, latest: link }
      this.#clients.set(key, client)
    }
    client.sessions += 1
    return client
  }

  #releaseClient(client: Client<Connection>): void {
    client.sessions -= 1
    if (client.sessions === 0) this.#clients.delete(client.key)
  }
}

function clientKey(host: string, realm: string): string {
  return `${host}\u0000${realm}`
}
