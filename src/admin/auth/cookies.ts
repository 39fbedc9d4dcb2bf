/** The cookies that a session, and a device, are known by. */
import { createHash } from 'node:crypto'
import { fastifyCookie } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { DEVICE_MS } from './devices.ts'

const NAME = 'tollgate_session'
/** The browser takes it only over TLS, of this very host and for all of it. */
const SECURE_PREFIX = '__Host-'
/** Of a device that is known of an account; several of them may log in from one browser. */
const DEVICE_NAME = 'tollgate_device_'

/** Whether the client came over TLS, to this process or to a trusted proxy in front of it. */
export function isSecure({ protocol }: FastifyRequest): boolean {
  return protocol === 'https'
}

/**
 * Its value; null: there is none. Two of the name are none: one of them was planted, and nobody
 * knows which. Over TLS only that of TLS counts.
 */
export function sessionCookieOf(request: FastifyRequest): string | null {
  return cookieOf(request, NAME)
}

export function deviceCookieOf(request: FastifyRequest, account: string): string | null {
  return cookieOf(request, deviceName(account))
}

function cookieOf(request: FastifyRequest, plainName: string): string | null {
  const name = nameFor(plainName, isSecure(request))
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const own = pairs.filter((pair) => pair.startsWith(`${name}=`))
  const [first] = own
  return first === undefined || own.length > 1 ? null : first.slice(name.length + 1)
}

export function setSessionCookie(reply: FastifyReply, value: string): void {
  reply.header('set-cookie', cookieText(NAME, value, isSecure(reply.request)))
}

export function setDeviceCookie(reply: FastifyReply, account: string, value: string): void {
  const lasting = { maxAge: DEVICE_MS / 1000 }
  const text = cookieText(deviceName(account), value, isSecure(reply.request), lasting)
  reply.header('set-cookie', text)
}

export function clearSessionCookie(reply: FastifyReply): void {
  reply.header('set-cookie', cookieText(NAME, '', isSecure(reply.request), { maxAge: 0 }))
}

function nameFor(plainName: string, secure: boolean): string {
  return secure ? `${SECURE_PREFIX}${plainName}` : plainName
}

/** Says nothing of the account to who does not know it. */
function deviceName(account: string): string {
  return DEVICE_NAME + createHash('sha256').update(account).digest('base64url').slice(0, 8)
}

/**
 * Lax: a browser sends it along when a link is followed, and after a directory has sent the user
 * back, but not with what a page of another site posts or reads.
 */
function cookieText(
  plainName: string,
  value: string,
  secure: boolean,
  more: { maxAge?: number } = {},
): string {
  const scope = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const
  return fastifyCookie.serialize(nameFor(plainName, secure), value, { ...scope, ...more })
}
