/** One connection of a peer: passes its messages through the state machine to their handlers. */
import type { Socket } from 'node:net'
import type { Peer } from '../../catalog/settings/peers/peers.ts'
import {
  baseAnswer,
  type ProtocolError,
  problemAnswer,
} from '../codecs/diameter-wire/base-answer.ts'
import {
  uint32Avp,
  uint32Of,
  type WireAvp,
  type WireMessage,
  writeMessage,
} from '../codecs/diameter-wire/message.ts'
import { avpCode, command, flags, resultCode } from '../codecs/diameter-wire/protocol.ts'
import { checkedAvps } from './base-checks.ts'
import { exchangeCapabilities } from './capabilities-exchange.ts'
import { classifyMessage, commandOf, kindProblems, resultCodeOf } from './classify-message.ts'
import type { ConnectionContext, DiameterConnection } from './connection-context.ts'
import { createFrames, type FrameProblem } from './frames.ts'
import { createOutput, type Output } from './output.ts'
import {
  dueEvent,
  nextState,
  type PeerAction,
  type PeerEvent,
  type PeerState,
} from './peer-machine.ts'
import { ReadThrottle } from './read-throttle.ts'
import {
  createHopByHopIds,
  createPendingRequests,
  type OwnRequest,
  peerRequest,
} from './server-requests.ts'

/** Disconnect-Cause (RFC 6733 section 5.4.3). */
export const disconnectCause = { rebooting: 0, busy: 1, doNotWantToTalkToYou: 2 } as const

const TOO_BUSY: ProtocolError = { resultCode: resultCode.tooBusy, why: 'this connection is ending' }
const OVER_RATE: ProtocolError = {
  resultCode: resultCode.tooBusy,
  why: 'more requests than agreed',
}
const FAILED: ProtocolError = { resultCode: resultCode.unableToComply, why: 'cannot be processed' }

const REQUIRED = {
  dwr: [avpCode.originHost, avpCode.originRealm],
  dpr: [avpCode.originHost, avpCode.originRealm, avpCode.disconnectCause],
} as const

/** Parameters of an event. */
interface EventDetails {
  /** Why the connection ends, if the event ends it; the first reason is logged. */
  readonly why: string
  /** The message; for `cerAccepted`, `cerRefused` and `protocolError` the answer to it. */
  readonly bytes?: Buffer
  /** Why a request is refused regardless of the state. */
  readonly problem?: ProtocolError | null
}

export class PeerConnection implements DiameterConnection {
  state: PeerState = 'waitCer'
  originHost = ''
  originRealm = ''
  peer: Peer | null = null
  stateId = 0
  readonly remoteAddress: string

  readonly #socket: Socket
  readonly #context: ConnectionContext
  readonly #certificateNames: readonly string[] | null
  readonly #output: Output
  readonly #reading: ReadThrottle
  readonly #pending = createPendingRequests()
  readonly #nextHopByHopId = createHopByHopIds()
  /** When the state began, and when the last message was received. */
  #sinceMs: number
  #heardMs: number
  /** Whether data has been received since the last timer check. */
  #hasHeard = false
  /** Requests of the peer that have not been answered. */
  #underWay = 0
  #accessVersion: unknown
  #disconnectCause: number = disconnectCause.rebooting
  #why = ''
  #isUp = false
  /** Nothing more may be written. */
  #hasEnded = false
  /** A DPR that has not been answered. */
  #dpr: Buffer | null = null

  /** `certificateNames`: see `ConnectingPeer`. */
  constructor(
    socket: Socket,
    certificateNames: readonly string[] | null,
    context: ConnectionContext,
  ) {
    this.#socket = socket
    this.#context = context
    this.#certificateNames = certificateNames
    this.remoteAddress = socket.remoteAddress ?? ''
    this.#output = createOutput(socket, context.flusher, () => this.#reading.afterWrite())
    this.#reading = new ReadThrottle(socket, {
      backpressure: context.backpressure,
      outputBytesMax: context.settings.outputBytesMax,
      stalledMs: context.settings.watchdogMs,
      waitingBytes: this.#output.waitingBytes,
    })
    this.#sinceMs = context.elapsedMs()
    this.#heardMs = this.#sinceMs
    const frames = createFrames(context.settings.messageBytesMax)
    const take = (bytes: Buffer) => this.#take(bytes)
    socket.on('data', (chunk: Buffer) => {
      const problem = frames.take(chunk, take)
      if (problem !== null) this.#refuseFrame(problem)
      this.#reading.afterRead(chunk.length, this.#underWay)
    })
    socket.on('timeout', () => this.#step('stalled', { why: 'does not read its answers' }))
    socket.on('end', () => this.#step('ended', { why: 'closed by the peer' }))
    socket.on('error', (error: NodeJS.ErrnoException) =>
      this.#noteReason(error.code ?? error.message),
    )
    socket.on('close', () => this.#closed())
  }

  get isGone(): boolean {
    return this.#hasEnded || this.state === 'closing'
  }

  get peerName(): string {
    return this.peer?.name ?? ''
  }

  send(answer: Buffer): void {
    if (this.#underWay > 0) this.#underWay -= 1
    if (this.isGone) this.#context.metrics.answerDropped()
    else this.#write(answer)
    this.#whenAnswered()
  }

  request(message: OwnRequest): Promise<WireMessage | null> {
    const isServed = this.state === 'open' || this.state === 'suspect'
    if (!isServed || this.#reading.isPaused) return Promise.resolve(null)
    const { settings, elapsedMs, nextEndToEndId } = this.#context
    const hopByHopId = this.#nextHopByHopId()
    const endMs = elapsedMs() + settings.answerTimeoutMs
    const answer = this.#pending.add(hopByHopId, message.command, endMs)
    this.#write(writeMessage({ ...message, hopByHopId, endToEndId: nextEndToEndId() }))
    return answer
  }

  /** Ends the connection in order: sends DPR with `cause`, and answers requests in flight. */
  stop(cause: number, why: string): void {
    this.#disconnectCause = cause
    this.#step('stop', { why })
  }

  /** Closes the connection immediately. */
  destroy(why: string): void {
    this.#noteReason(why)
    this.#hasEnded = true
    this.#socket.destroy()
  }

  /** Checks the timers, and whether the peer may still be connected. */
  checkTimers(nowMs: number): void {
    if (this.#hasHeard || this.#reading.isStopped) this.#heardMs = nowMs
    this.#hasHeard = false
    this.#pending.expire(nowMs)
    // A peer that does not read has a time-out of its own.
    if (this.#reading.isStopped) return
    const at = { nowMs, sinceMs: this.#sinceMs, heardMs: this.#heardMs, underWay: this.#underWay }
    const event = dueEvent(this.state, this.#context.settings, at)
    if (event !== null) this.#step(event, { why: `no message in state ${this.state}` })
    if (this.state === 'open' || this.state === 'suspect') this.#checkAccess()
  }

  #take(bytes: Buffer): boolean {
    this.#hasHeard = true
    this.#count('in', bytes)
    const kind = classifyMessage(bytes)
    switch (kind) {
      case 'cer':
        this.#takeCapabilities(bytes)
        break
      case 'dwr':
      case 'dpr': {
        const checked = checkedAvps(bytes, REQUIRED[kind])
        const { problem } = checked
        const why = this.state === 'waitCer' ? 'no CER' : 'DPR of the peer'
        this.#step(problem === null ? kind : 'request', { why, bytes, problem })
        if (checked.problem !== null || !this.#isUp) break
        this.#noteState(uint32Of(checked.avps, avpCode.originStateId) ?? 0)
        break
      }
      case 'dwa':
      case 'dpa':
      case 'answer':
        this.#step(kind, { why: 'no CER', bytes })
        break
      case 'creditControl':
        this.#step('request', { why: 'no CER', bytes })
        break
      default:
        this.#step('request', { why: 'no CER', bytes, problem: kindProblems[kind] })
    }
    return !this.#hasEnded
  }

  #takeCapabilities(bytes: Buffer): void {
    const { state, remoteAddress, originHost } = this
    if (state !== 'waitCer' && state !== 'open' && state !== 'suspect') return
    const { metrics, log, access } = this.#context
    const localAddress = this.#socket.localAddress ?? ''
    const certificateNames = this.#certificateNames
    const endpoint = { remoteAddress, localAddress, certificateNames, originHost }
    this.#accessVersion = access.version()
    const { answer, accepted, cause, why } = exchangeCapabilities(bytes, endpoint, this.#context)
    if (accepted !== null) {
      this.originHost = accepted.capabilities.originHost
      this.originRealm = accepted.capabilities.originRealm
      this.peer = accepted.peer
      this.#step('cerAccepted', { why: '', bytes: answer })
      this.#noteState(accepted.capabilities.stateId)
      return
    }
    metrics.refused(cause)
    log.warn({ address: remoteAddress, cause, why }, 'a Diameter peer is refused')
    this.#step('cerRefused', { why: `refused: ${why}`, bytes: answer })
  }

  #noteState(stateId: number): void {
    if (stateId === 0 || stateId === this.stateId) return
    this.stateId = stateId
    this.#context.onState(this)
  }

  #refuseFrame(problem: FrameProblem): void {
    const isRequest = ((problem.header[4] as number) & flags.request) !== 0
    const answer = problemAnswer(problem.header, problem, this.#context.own.identity)
    this.#step('protocolError', isRequest ? { why: problem.why, bytes: answer } : problem)
  }

  #checkAccess(): void {
    const { access, metrics } = this.#context
    const version = access.version()
    if (version === this.#accessVersion) return
    this.#accessVersion = version
    const { originHost, originRealm, remoteAddress } = this
    const certificateNames = this.#certificateNames
    const verdict = access.admit({ originHost, originRealm, remoteAddress, certificateNames })
    if (verdict.isAdmitted) this.peer = verdict.peer
    else {
      metrics.refused(verdict.cause)
      this.stop(disconnectCause.doNotWantToTalkToYou, verdict.problem.why)
    }
  }

  #step(event: PeerEvent, details: EventDetails): void {
    const before = this.state
    const { state, actions } = nextState(before, event)
    if (state !== before) {
      this.state = state
      this.#sinceMs = this.#context.elapsedMs()
      if (state !== 'open' && state !== 'suspect') this.#noteReason(details.why)
    }
    if (event === 'dpr' && details.bytes !== undefined) this.#dpr = Buffer.from(details.bytes)
    for (const action of actions) this.#act(action, details)
    this.#whenAnswered()
  }

  #act(action: PeerAction, { why, bytes, problem = null }: EventDetails): void {
    switch (action) {
      case 'sendCea':
      case 'sendError':
        if (bytes !== undefined) this.#write(bytes)
        return
      case 'sendDwr':
        this.#writeRequest(command.watchdog, [])
        return
      case 'sendDpr':
        this.#writeRequest(command.disconnectPeer, [
          uint32Avp(avpCode.disconnectCause, this.#disconnectCause),
        ])
        return
      case 'sendDwa':
        if (bytes !== undefined) this.#writeSuccess(bytes)
        return
      case 'sendDpa':
        if (this.#dpr !== null) this.#writeSuccess(this.#dpr)
        this.#dpr = null
        return
      case 'up':
        this.#up()
        return
      case 'dispatch':
        if (bytes !== undefined) this.#dispatch(bytes, problem)
        return
      case 'refuse':
        if (bytes !== undefined) this.#refuse(bytes, problem ?? TOO_BUSY)
        return
      case 'match':
        if (bytes !== undefined && !this.#pending.settle(bytes)) {
          this.#context.metrics.answerUnmatched()
        }
        return
      case 'end':
        this.#output.flush()
        this.#hasEnded = true
        this.#socket.end()
        return
      case 'destroy':
        this.destroy(why)
    }
  }

  #dispatch(bytes: Buffer, problem: ProtocolError | null): void {
    const { peer } = this
    const { rateLimits, onRateExceeded, onRequest, log } = this.#context
    if (problem !== null) {
      this.#refuse(bytes, problem)
      return
    }
    const refuseRate = () => {
      onRateExceeded(this.peerName)
      this.send(problemAnswer(bytes, OVER_RATE, this.#context.own.identity))
    }
    const isOverRate = peer !== null && rateLimits.take(peer) > 0
    this.#underWay += 1
    const due = this.#underWay
    try {
      onRequest(this, bytes, isOverRate ? refuseRate : undefined)
    } catch (error) {
      // A defect, which must not end the process.
      log.error({ err: error }, 'a Diameter request could not be processed')
      if (this.#underWay !== due) return
      this.send(problemAnswer(bytes, FAILED, this.#context.own.identity))
    }
  }

  #refuse(bytes: Buffer, problem: ProtocolError): void {
    this.#write(problemAnswer(bytes, problem, this.#context.own.identity))
  }

  #writeSuccess(request: Buffer): void {
    const { identity, stateId } = this.#context.own
    const state = uint32Avp(avpCode.originStateId, stateId)
    this.#write(baseAnswer(request, resultCode.success, identity, [state]))
  }

  /** A request of the base protocol, whose answer is matched by command alone. */
  #writeRequest(code: number, further: readonly WireAvp[]): void {
    const { own, nextEndToEndId } = this.#context
    const ids = { hopByHopId: this.#nextHopByHopId(), endToEndId: nextEndToEndId() }
    this.#write(writeMessage({ ...peerRequest(code, own, further), ...ids }))
  }

  #write(bytes: Buffer): void {
    if (this.#hasEnded) return
    this.#count('out', bytes)
    this.#output.add(bytes)
  }

  #count(direction: 'in' | 'out', bytes: Buffer): void {
    const isRequest = ((bytes[4] as number) & flags.request) !== 0
    const code = isRequest ? 0 : resultCodeOf(bytes)
    this.#context.metrics.message(direction, commandOf(bytes), isRequest, code)
  }

  #whenAnswered(): void {
    if (this.#underWay > 0) return
    if (this.state === 'finishing' || this.state === 'left') this.#step('answered', { why: '' })
  }

  #up(): void {
    const { originHost: host, originRealm: realm, remoteAddress: address, peerName: peer } = this
    this.#isUp = true
    this.#context.log.info({ host, realm, address, peer }, 'a Diameter peer is connected')
  }

  #closed(): void {
    this.#hasEnded = true
    this.#step('disconnected', { why: 'closed by the peer' })
    this.#pending.close()
    this.#context.onGone(this)
    if (!this.#isUp) return
    const { originHost: host, originRealm: realm, remoteAddress: address, peerName: peer } = this
    const cause = this.#why
    this.#context.log.info(
      { host, realm, address, peer, cause },
      'a Diameter peer has disconnected',
    )
  }

  #noteReason(why: string): void {
    if (this.#why === '') this.#why = why
  }
}
