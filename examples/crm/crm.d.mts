import type { Server } from 'node:http'

export function answerOf(path: string, request: object, revisions: readonly object[]): unknown
export function createCrm(revisions: readonly object[], options?: { token?: string }): Server
