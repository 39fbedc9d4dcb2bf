/** The cookie that a session is known by. */
import { fastifyCookie } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

const NAME = 'tollgate_session'
/** The browser takes it only over TLS, of this very host and for all of it. */
const SECURE_NAME = `__Host-${NAME}`

/** Whether the client came over TLS, to this process or to a trusted proxy in front of it. */
export function isSecure({ protocol }: FastifyRequest): boolean {
  return protocol === 'https'
}

/**
 * Its value; null: there is none. Two of the name are none: one of them was planted, and nobody
 * knows which. Over TLS only that of TLS counts.
 */
export function sessionCookieOf(request: FastifyRequest): string | null {
  const name = nameFor(isSecure(request))
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const own = pairs.filter((pair) => pair.startsWith(`${name}=`))
  const [first] = own
  return first === undefined || own.length > 1 ? null : first.slice(name.length + 1)
}

export function setSessionCookie(reply: FastifyReply, value: string): void {
  reply.header('set-cookie', cookieText(value, isSecure(reply.request)))
}

export function clearSessionCookie(reply: FastifyReply): void {
  reply.header('set-cookie', cookieText('', isSecure(reply.request), { maxAge: 0 }))
}

function nameFor(secure: boolean): string {
  return secure ? SECURE_NAME : NAME
}

/**
 * Lax: a browser sends it along when a link is followed, and after a directory has sent the user
 * back, but not with what a page of another site posts or reads.
 */
function cookieText(value: string, secure: boolean, more: { maxAge?: number } = {}): string {
  const scope = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const
  return fastifyCookie.serialize(nameFor(secure), value, { ...scope, ...more })
}
