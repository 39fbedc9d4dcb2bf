/** Receivers of notifications, which accept each event at once and count them together. */
import * as uWS from 'uWebSockets.js'

const COUNT = Number(process.argv[2])
const ports: number[] = []
let received = 0

function listen(): void {
  uWS
    .App()
    .get('/*', (response) => {
      received += 1
      response.writeHeader('content-type', 'application/json').end('{"success":true}')
    })
    .listen('127.0.0.1', 0, (socket) => {
      if (socket === false) process.exit(1)
      ports.push(uWS.us_socket_local_port(socket))
      if (ports.length === COUNT) process.send?.({ ports })
    })
}

for (let index = 0; index < COUNT; index += 1) listen()
process.on('message', () => process.send?.({ received }))
process.on('disconnect', () => process.exit(0))
