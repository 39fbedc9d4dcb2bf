/**
 * Credit-control requests of open peers: whether they are for this node, which file type reads
 * them, and their answers (RFC 8506; RFC 6733 section 6.1).
 */
import type { Peer } from '../../catalog/peers.ts'
import type { Charge } from '../charge.ts'
import type { WireIdentity } from '../codecs/diameter-wire/wire-codec.ts'
import { resultCode } from '../codecs/diameter-wire/protocol.ts'
import { errorAnswer, type Route, routeOf } from '../codecs/diameter-wire/route.ts'
import { type Dialect, type Dialects, isDialect } from '../dialects.ts'
