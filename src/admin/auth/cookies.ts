/** Cookies that identify a session or a device. */
import { createHash } from 'node:crypto'
import { fastifyCookie } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { DEVICE_MS } from '../../identity/devices.ts'

const NAME = 'tollgate_session'
/** Browsers accept the prefix only over TLS, with path `/` and without a domain. */
const SECURE_PREFIX = '__Host-'
/** Cookie of a device known for an account; several accounts may log in from one browser. */
const DEVICE_NAME = 'tollgate_device_'

/** Whether the client connected over TLS, to this process or to a trusted proxy. */
export function isSecure({ protocol }: FastifyRequest): boolean {
  return protocol === 'https'
}

/**
 * Value of the cookie. Null without one, and also if there are two of the name, one of which was
 * injected. Over TLS only the cookie with the secure prefix is accepted.
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

/** Hides the account name from other users of the browser. */
function deviceName(account: string): string {
  return DEVICE_NAME + createHash('sha256').update(account).digest('base64url').slice(0, 8)
}

/**
 * SameSite=Lax: browsers send the cookie when a link is followed or an identity provider redirects
 * back, but not with cross-site POSTs or subrequests.
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
