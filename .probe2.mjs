import { open } from 'lmdb'
import { rmSync, statSync } from 'node:fs'
const mode=process.argv[2]
const P='/tmp/lmdbp3'
rmSync(P,{recursive:true,force:true})
const root = open({ path:P, noSubdir:false, maxDbs:8, keyEncoding:'binary', encoding:'binary', overlappingSync:false })
const o={keyEncoding:'binary', encoding:'binary'}
const docs = root.openDB({name:'docs',...o})
const k=(a,b)=>{const x=Buffer.alloc(10);x.writeUInt32BE(a);x.writeUIntBE(b,4,6);return x}
root.transactionSync(()=>{for(let i=0;i<10;i++)docs.put(k(1,i),Buffer.from('v'+i));docs.put(k(2,0),Buffer.from('other'))})
const r=(opt)=>[...docs.getRange(opt)].map(e=>e.key.readUInt32BE(0)+':'+e.key.readUIntBE(4,6))
if(mode.includes('1')) r({start:k(1,2),end:k(1,5)}),r({start:k(1,5),end:k(1,2),reverse:true})
if(mode.includes('2')){ root.transactionSync(()=>{ docs.put(k(3,1),Buffer.from('a')); r({start:k(3,0),end:k(4,0)});
 try { root.transactionSync(()=>{docs.put(k(3,2),Buffer.from('b')); throw new Error('child')}) } catch(e){}
 r({start:k(3,0),end:k(4,0)}) }) }
if(mode.includes('3')) {try{root.transactionSync(()=>{docs.put(k(5,1),Buffer.from('a')); throw new Error('abort')})}catch(e){}}
if(mode.includes('4')) docs.get(k(5,1))
if(mode.includes('5')) for(let i=0;i<20;i++) root.transactionSync(()=>docs.put(k(8,i),Buffer.from('x')))
await root.close(); console.log('closed')
