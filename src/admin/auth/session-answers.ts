/** Answers of the routes of authentication, and the bodies that they read (spec 5.1). */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readParameters } from '../entities/request/body.ts'
import { credentialIn, type LoginInput } from './login-fields.ts'
import { AuthRefusal } from './refusal.ts'

export function success(details: unknown, input: LoginInput) {
  return { status: 1, desc: 'success', details, input }
}

export function failure(desc: string, input: LoginInput) {
  return { status: 0, desc, details: false, input }
}

/** Throws `AuthRefusal` where a credential stands in the address. */
export async function bodyOf(request: FastifyRequest, reply: FastifyReply) {
  const credential = credentialIn(request.url)
  if (credential === null) return readParameters(request, reply)
  const text = `${credential} must be in the body: addresses are written down`
  throw new AuthRefusal(text, { httpStatus: 400 })
}
