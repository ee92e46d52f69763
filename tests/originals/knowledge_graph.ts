// The class that the suite of the reference memory server tests, over `loci mcp reference`.
//
// The suite gives each instance a file; here that is a folder of loci beside it, so that two
// instances of one file see the same memory, as in the original.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

export interface Entity {
  name: string;
  entityType: string;
  observations: string[];
}

export interface Relation {
  from: string;
  to: string;
  relationType: string;
}

export interface KnowledgeGraph {
  entities: Entity[];
  relations: Relation[];
}

const started: Client[] = [];

export class KnowledgeGraphManager {
  private client: Promise<Client>;

  constructor(file: string) {
    this.client = this.start(`${file}.loci`);
  }

  private async start(data: string): Promise<Client> {
    const client = new Client({ name: 'suite', version: '1' });
    const environment = { ...process.env, LOCI_DATA: data, LOCI_EMBEDDING_PROVIDER: 'none', LOCI_LOG: 'error' };
    const transport = new StdioClientTransport({
      command: process.env.LOCI_BIN!,
      args: ['mcp', 'reference'],
      env: environment as Record<string, string>,
    });
    await client.connect(transport);
    started.push(client);
    return client;
  }

  private async call(name: string, given: Record<string, unknown>): Promise<any> {
    const client = await this.client;
    const result: any = await client.callTool({ name, arguments: given });
    const text = result.content[0].text;
    if (result.isError) throw new Error(text);
    // Both forms of a reply say the same, as the original's do.
    const isMessage = typeof result.structuredContent.message === 'string';
    const values = Object.values(result.structuredContent);
    const said = isMessage ? result.structuredContent.message : values.length === 1 ? values[0] : result.structuredContent;
    const expected = isMessage ? said : JSON.stringify(said, null, 2);
    if (text !== expected) throw new Error(`the text is ${text}, not ${expected}`);
    return said;
  }

  createEntities = (entities: Entity[]) => this.call('create_entities', { entities });
  createRelations = (relations: Relation[]) => this.call('create_relations', { relations });
  addObservations = (observations: unknown[]) => this.call('add_observations', { observations });
  deleteEntities = (entityNames: string[]) => this.call('delete_entities', { entityNames });
  deleteObservations = (deletions: unknown[]) => this.call('delete_observations', { deletions });
  deleteRelations = (relations: Relation[]) => this.call('delete_relations', { relations });
  readGraph = (): Promise<KnowledgeGraph> => this.call('read_graph', {});
  searchNodes = (query: string): Promise<KnowledgeGraph> => this.call('search_nodes', { query });
  openNodes = (names: string[]): Promise<KnowledgeGraph> => this.call('open_nodes', { names });
}

export async function closeAll(): Promise<void> {
  await Promise.all(started.splice(0).map((client) => client.close()));
}
